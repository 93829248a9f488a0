"""Words that carry no topic: grammar, talk with an agent, and the frames that people put around a question.

English first. A question in German, Spanish, French or Portuguese is recognised by its grammar, which then does not
count as a topic either; Chinese and Japanese frames are cut out of the text, since no space separates them.
"""

from __future__ import annotations

import re

# Words that carry grammar, not a topic. They are left out of coverage and of scores, unless nothing else remains.
_STOP = """
a about above after again all also am an and any anyone anything are arent as at be because been before
being below between both but by can cannot cant could couldnt did didnt do does doesnt doing done dont down
during each either else ever every few for from further get gets getting give given go goes going gone got
had hadnt has hasnt have havent having he hence her here hers herself him himself his how however i if in
instead into is isnt it its itself just let lets like likely made make makes making many may maybe me might
mine more most much must my myself need needs neither no nor not now of off often on once one only onto or
other our ours ourselves out over own per perhaps please put quite rather really same say says see she
should shouldnt since so some someone something still such than that the their theirs them themselves then
there these they thing things this those though through thus to too toward towards under until unto up upon
us use used uses using usually very via was wasnt we well were werent what whatever when where whether which
while who whom whose why will with within without wont would wouldnt yes yet you your yours yourself
yourselves
"""
STOP = frozenset(_STOP.split())

# Stop words that are code in front of one of SYNTAX.
_KEYWORDS = """
all and any as by do else each for from if in into is not on only or over some until where while with
"""
KEYWORDS = frozenset(_KEYWORDS.split())
_SYNTAX = """
clause clauses keyword keywords loop loops operator operators statement statements type types
"""
SYNTAX = frozenset(_SYNTAX.split())

# Words that people steer an agent with. A text of nothing else asks nothing of a memory.
_CHATTER = """
again ahead all apply approve approved awesome both branch build cancel change changes check clean code
commit commits complete continue cool correct create current debug delete deploy description doc docs done
error errors everything execute exit explain feature file files finish first fix fixed fixes good great
hello hey hi implement issue issues keep last left lint look looks main merge message nah name new next nice
nope nothing ok okay open option perfect phase plan please pr problem proceed pull push ready rebase
recommend redo refactor remove rename restart resume retry revert review run save second show sorry sounds
start status step steps stop summarise summarize summary sure task tasks test tests thank thanks the third
todo todos try undo update version wait work works write wrong yeah yep yes
"""
CHATTER = frozenset(_CHATTER.split())

# What stands around a subject when somebody asks for what happened: "what broke last time we touched …". Each of
# these is in half of all sessions and none of them tells two sessions apart.
_FRAMES = """
broke break broken breaks touch touched touches touching last time times happen happened happens happening wrong went
try tried tries trying remember remembers recall decide decided decides decision discuss discussed discussing
discussion talk talked talking weird strange odd problem problems issue issues trouble seen before look looked looking
find found know known knows tell told said reason reasons idea ideas stuff ok okay hi hey hello quick question please
anybody somebody everybody thought think thinking consider considered considering change changed changes changing edit
edited editing ago already background context history wonder wondering curious
"""
FRAMES = frozenset(_FRAMES.split())

# Words of somebody who asks. A frame has one; without one "context", "change" and "find" are what it is about.
_ASKERS = """
any anybody anyone anything are can could curious did do does ever had has have hello hey hi how i is me my odd our
please remember somebody someone something strange us was we weird were what whats when where which who whom whose why
wonder wondering you your
"""
ASKERS = frozenset(_ASKERS.split())

# Verbs of an order. A question about a time, file or person does not begin with one.
_ORDERS = """
add apply approve build cancel check checkout clean clear close commit continue create debug delete deploy do execute
exit finish fix go implement install keep lint make merge move open proceed publish pull push rebase redo refactor
release remove rename replace restart resume retry revert review run save start stop test try undo update upgrade use
wait write
"""
ORDERS = frozenset(_ORDERS.split())

# Orders that are subjects, too, when nothing else is said.
SUBJECTS = frozenset({"deploy", "lint", "merge", "rebase", "retry"})

# Words of programming that a list of English words lacks. They are spelled right, whether a store has them or not.
_PROGRAMMING = """
adr adrs allocator allocs api async auth autocomplete autoload backend backends backfill backport backtick
base64 bash benchmark biome bool boolean bundler changelog charset checkbox chore cli codec codegen config
configs conftest coroutine cors cron crypto css csv daemon dataclass datetime debounce dedupe deduplicate
denylist deprecate deserialize devops diff dirs docker dockerfile dotfile dropdown embed embedding endpoint
enqueue enum env eslint eval evals faq fastapi favicon filesystem fixtures flake flatten frontend func github
gitignore gitlab golang goroutine grep gzip hardcoded hashmap hover html http https inbox init inline invoke
iterator javascript json jsonl jwt kubernetes lang lexer lifecycle linter linux localhost localstorage
lockfile logfile macos malloc markdown matcher merge metadata middleware mise mkdir mock modal monorepo mutex
namespace nginx nodejs npm nullable oauth onboarding online openapi parser payload pipeline plugin png pnpm
polyfill popup postgres prefetch preload presets prettier prod prompts proto proxy pytest python qualifier
readme readonly rebase redact redirect redis reducer refactor refetch regex repo repos rerun reset resolver
reusable rewind rollback rollout rollup runtime sandbox sanitize scaffold schema scrollbar sdk semver
serialize serializer serverless sidebar skeleton sqlite src stderr stdin stdout struct stub subcommand
submodule subprocess substring svg symlink sync syntax tarball teardown templating terraform toggle tokenizer
toml tooltip traceback tsconfig tuple typedef typescript unicode unlink unset untracked upsert uri url urls
usernames utf utils uuid validator varchar viewport vim virtualenv vite webhook webpack websocket whitespace
wildcard worktree wrapper xml yaml yarn yml zsh
"""
PROGRAMMING = frozenset(_PROGRAMMING.split())

_LANGUAGES = {
    "German": """
        aber als am an auch auf aus bei bis da damals dass dem den denn der des die dies diese dieser doch du ein eine
        einem einen einer eines er es euch eure für gab gibt haben habe hat hatte hatten hier ich ihr im in ins ist ja
        kann können man mein mit nach nicht noch nur oder schon sein seit sich sie sind so um und uns unser unsere vom
        von vor war waren warum was weil welche welchen welcher welches wenn wer werden weshalb wie wieso wir wird wo
        wofür worden wurde wurden zu zum zur über geändert entschieden besprochen probiert versucht letzte letzten
        letztes mal problem grund passiert erinnerst weißt""",
    "Spanish": """
        a al algo algún antes aquí cómo como con cuál cuando cuándo de del desde donde dónde e el ella ellos en entonces
        era es esta está este esto fue fueron ha habíamos había han hay hemos hicimos hizo la las lo los me mi muy más
        nada ni no nos nosotros nuestra nuestro o para pero por porque qué que quién se sin sobre son su sus también
        te tenemos tiene todo tu un una unos usamos y ya decidimos decidió hablamos cambió cambiamos intentamos probamos
        última último vez problema razón pasó recuerdas sabes""",
    "French": """
        a au aux avait avec avons ce ces cela cette c'est comment d'où dans de depuis des dont du elle en est et
        eu il ils j'ai je l' la le les leur lors mais mes mon ne nos notre nous on ont ou où par pas plus pour pourquoi
        qu'est-ce qu'on quand que quel quelle quelles quels qui quoi sa sans se ses si son sont sur toi très tu un une
        vos votre vous y à était été décidé discuté changé essayé modifié dernière fois problème raison passé""",
    "Portuguese": """
        a ao aos as até com como da das de depois do dos e ela ele em entre era essa esse esta este eu foi foram fizemos
        há isso já lhe mais mas me mesmo meu minha muito na nas nem no nos nossa nosso não nós o os ou para pela pelo
        por porque quais qual quando que quem se sem ser seu sua são também te tem temos um uma você decidimos mudou
        mudamos tentamos discutimos última vez problema razão aconteceu lembra""",
}
GRAMMAR = {language: frozenset(words.split()) for language, words in _LANGUAGES.items()}

# Longest first: "what did we" must go before "we".
DENSE_FRAMES = re.compile(
    "为什么会|为什么要|为什么|為什麼|为何|怎么样|怎么会|怎么|怎麼|如何|什么时候|什么|什麼|哪些|哪个|哪一个|有没有|是不是|是否"
    "|我们|我們|咱们|你们|他们|之前|以前|上次|上一次|当时|请问|请|记得|还记得|决定|讨论过|讨论|试过|修改过|改过|问题"
    "|吗|呢|吧|啊|的|了|过"
    "|なぜ|どうして|何故|どのように|どうやって|どう|いつ|誰が|何を|何が|何の|どの|について|に関して|私たち|我々|前回|以前"
    "|でしたか|ましたか|ませんか|ですか|ますか|のですか|しましたか|しました|したの|された|覚えて|いますか|ください|決めた|変更した"
    "|왜|어떻게|무엇을|무엇|언제|누가|우리는|우리가|우리|했나요|했습니까|인가요|있나요|기억"
)
# Particles between two words; inside a word of kana they are letters.
PARTICLES = re.compile("(?<=[\u4e00-\u9fff\u30a0-\u30ff])[はがをにのでとへも](?=[\u4e00-\u9fff\u30a0-\u30ffA-Za-z])")
DENSE = re.compile("[\u0e00-\u0eff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7ff]+")
"""Runs of a script that puts no space between words, or writes several words as one."""
