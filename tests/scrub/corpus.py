"""A corpus of secrets and personal data from a seed: vendors' shapes, forms of passwords, wrappings, people.

Nothing in this file is a secret: bodies are drawn at run time. A template names an alphabet and a length in braces:
``{a36}`` letters and digits, ``{l34}`` letters, ``{h32}`` hexadecimal, ``{H32}`` capital hexadecimal, ``{u20}``
URL-safe, ``{b40}`` base64, ``{U16}`` capitals and digits, ``{s64}`` small letters and digits, ``{d12}`` digits,
``{w8}`` small letters, ``{g}`` a UUID.
"""

from __future__ import annotations

import base64
import json
import random
import re
import string
import uuid
from collections.abc import Callable
from urllib.parse import quote

_ALNUM = string.ascii_letters + string.digits
_ALPHABETS = {
    "a": _ALNUM,
    "l": string.ascii_letters,
    "h": "0123456789abcdef",
    "H": "0123456789ABCDEF",
    "u": _ALNUM + "_-",
    "b": _ALNUM + "+/",
    "U": string.ascii_uppercase + string.digits,
    "s": string.ascii_lowercase + string.digits,
    "d": string.digits,
    "w": string.ascii_lowercase,
}
_SLOT = re.compile(r"\{(?:([alhHubUsdw])(\d+)|(g))\}")


def fill_template(rng: random.Random, template: str) -> tuple[str, str]:
    """Return (text, secret): ``template`` with every slot drawn from ``rng``, and the longest of them."""

    drawn: list[str] = []

    def draw(match: re.Match[str]) -> str:
        drawn.append(_draw(rng, match))
        return drawn[-1]

    return _SLOT.sub(draw, template), max(drawn, key=len)


def _draw(rng: random.Random, match: re.Match[str]) -> str:
    if match[3]:
        return str(uuid.UUID(int=rng.getrandbits(128), version=4))
    alphabet, count = _ALPHABETS[match[1]], int(match[2])
    body = "".join(rng.choice(alphabet) for _ in range(count))
    # A body that ends in a sign would be cut at it by any reader, this test's included.
    return body[:-1] + rng.choice([c for c in alphabet if c.isalnum()])


def _words(text: str) -> list[str]:
    return text.split()


# Tokens that their own form gives away.
VENDORS: dict[str, str] = dict(
    line.split(None, 1)
    for line in r"""
adobe-client p8e-{a32}
adyen AQE{b40}hmfuXNWTK0Qc+iSS{b60}
age AGE-SECRET-KEY-1{U58}
airtable pat{a14}.{h64}
alibaba LTAI{a20}
alibaba-sts STS.{a24}.{a60}
amplitude-export amp_{a40}
anthropic-api sk-ant-api03-{u93}AA
anthropic-admin sk-ant-admin01-{u93}AA
anthropic-oauth sk-ant-oat01-{u93}AA
anthropic-refresh sk-ant-ort01-{u93}AA
anthropic-session sk-ant-sid01-{u86}
apify apify_api_{a36}
artifactory-key AKCp{a69}
artifactory-reference cmVmdGtuOjAx{a52}
asana 2/{d16}/{d16}:{h32}
asana-old 0/{h32}
atlassian-api ATATT3xFfGF0{u170}={H8}
atlassian-bitbucket ATBB{a32}
atlassian-connect ATCTT3xFfGN0{u170}={H8}
auth0-management eyJhbGciOiJSUzI1NiJ9.eyJ{a80}.{u86}
aws-access AKIA{U16}
aws-session-access ASIA{U16}
aws-bedrock-long ABSK{b108}=
aws-bedrock-short bedrock-api-key-{a160}
aws-session-token IQoJb3JpZ2luX2Vj{b200}==
aws-session-old FwoGZXIvYXdzE{b200}==
azure-ad-secret {a3}8Q~{a34}
azure-devops {a76}AZDO{a4}
azure-openai {a52}JQQJ99BAC{a23}
azure-storage AccountKey={b86}==
azure-sas https://x.blob.core.windows.net/c?sv=2022-11-02&sig={a43}%3D
azure-app-config Endpoint=https://x.azconfig.io;Id={a6};Secret={b43}=
azure-search {a42}AzSe{a6}
azure-function {a44}AzFu{a6}==
azure-container-registry {a42}+ACR{a6}
azure-batch {a76}+ABa{a6}==
baidu bce-v3/ALTAK-{a21}/{h40}
bitbucket-app ATBB{a24}{H8}
brave BSA{a28}
browserbase bb_live_{a27}
buildkite-user bkua_{h40}
buildkite-agent bkat_{a40}
cerebras csk-{s48}
checkout-secret sk_{s26}4
checkout-sbox sk_sbox_{s26}
circleci CCIPAT_{a22}_{h40}
circleci-project CCIPRJ_{a22}_{h40}
clerk sk_live_{a40}
clickup pk_{d8}_{U32}
clojars CLOJARS_{h60}
cloudflare-ca v1.0-{h24}-{h146}
cloudflare-user cfut_{u40}
cloudflare-account cfat_{u40}
cloudinary cloudinary://{d15}:{u27}@corp
cockroach CCDB1_{a22}_{a40}
coder {a10}-{a22}
composio ak_{u20}
contentful CFPAT-{u43}
context7 ctx7sk-{g}
cratesio cio{a32}
cursor-key key_{h64}
cursor-key-new crsr_{h64}
databricks dapi{h32}
databricks-suffix dapi{h32}-2
databricks-oauth dose{h32}
daytona dtn_{h64}
deepseek sk-{h32}
dashscope sk-{h32}
digitalocean-pat dop_v1_{h64}
digitalocean-oauth doo_v1_{h64}
digitalocean-refresh dor_v1_{h64}
discord-bot MTE{a21}.G{a5}.{a38}
discord-webhook https://discord.com/api/webhooks/{d18}/{u68}
docker-pat dckr_pat_{u27}
docker-org dckr_oat_{u32}
doppler-personal dp.pt.{a43}
doppler-service dp.st.prd.{a43}
doppler-cli dp.ct.{a43}
dropbox-short sl.{u140}
dropbox-long sl.u.{u140}
duffel duffel_live_{u43}
dynatrace dt0c01.{U24}.{U64}
dynatrace-platform dt0s16.{U8}.{U64}
e2b e2b_{h40}
easypost EZAK{a54}
easypost-test EZTK{a54}
elevenlabs sk_{h48}
facebook-page EAA{a160}
facebook-app {d15}|{u27}
figma figd_{u40}
figma-refresh figor_{u40}
firebase-fcm AAAA{u7}:APA91b{u134}
firecrawl fc-{h32}
fireworks fw_{a24}
fireworks-3 fw_3Z{a22}
flutterwave FLWSECK_TEST-{h32}-X
flutterwave-live FLWSECK-{h32}-X
flyio fm2_{b120}
flyio-old fo1_{a43}
frameio fio-u-{u64}
gcp-api AIza{u35}
gcp-oauth-secret GOCSPX-{u28}
gcp-access ya29.a0{u160}
gcp-refresh 1//0e{u60}
gcp-hmac GOOG1E{U57}
gemini-auth AQ.Ab8RN6{u44}
github-pat ghp_{a36}
github-oauth gho_{a36}
github-user ghu_{a36}
github-server ghs_{a36}
github-refresh ghr_{a76}
github-fine github_pat_{a22}_{a59}
github-copilot tid={h32};exp=1790000000;sku=copilot:8kp=1:{h64}
github-app-jwt ghs_1234567_eyJ{a20}.eyJ{a120}.{u200}
gitlab-pat glpat-{u20}
gitlab-routable glpat-{a27}.01.{s9}
gitlab-deploy gldt-{u20}
gitlab-runner glrt-{u20}
gitlab-runner-old GR1348941{u20}
gitlab-trigger glptt-{h40}
gitlab-feed glft-{u20}
gitlab-incoming glimt-{u25}
gitlab-agent glagent-{u50}
gitlab-scim glsoat-{u20}
gitlab-cicd glcbt-1a_{u20}
gitlab-oauth-secret gloas-{h64}
gitlab-session _gitlab_session={h32}
gocardless live_{u40}
grafana-service glsa_{a32}_{h8}
grafana-cloud glc_eyJ{a100}
grafana-api eyJrIjoi{a80}
groq gsk_{a52}
hashicorp-terraform {a14}.atlasv1.{u67}
hashicorp-vault hvs.{u90}
hashicorp-vault-batch hvb.{u150}
hashicorp-vault-old s.{a24}
helicone sk-helicone-{s7}-{s7}-{s7}-{s7}
heroku HRKU-AA{u58}
heroku-oauth HRKU-{g}
honeycomb hcaik_01{s58}
honeycomb-ingest hcxik_01{s58}
hubspot pat-na1-{g}
hubspot-eu pat-eu1-{g}
huggingface hf_{l34}
huggingface-digits hf_{a34}
huggingface-oauth hf_oauth_{a100}
huggingface-org api_org_{l34}
infracost ico-{a32}
inngest signkey-prod-{h64}
intercom dG9rOj{a54}=
intra42 s-s4t2ud-{h64}
jenkins 11{h32}
jina jina_{h32}{a28}
jwt eyJ{a33}.eyJ{a60}.{u43}
jwe eyJhbGciOiJkaXIiLCJlbmMiOiJBMjU2R0NNIn0..{u16}.{u80}.{u22}
kimi sk-kimi-{a48}
klaviyo pk_{h34}
langchain lsv2_pt_{h32}_{h10}
langchain-service lsv2_sk_{h32}_{h10}
langfuse-secret sk-lf-{g}
launchdarkly-sdk sdk-{g}
launchdarkly-api api-{g}
launchdarkly-mobile mob-{g}
linear lin_api_{a40}
linear-oauth lin_oauth_{a40}
linkedin WPL_AP1.{a20}.{a8}==
linode linode_{h64}
litellm sk-litellm-{u24}
lob live_{h35}
lob-pub test_{h35}
logfire pylf_v1_eu_{a43}
mailchimp {h32}-us12
mailersend mlsn.{h64}
mailgun key-{h32}
mailgun-new {h32}-{h8}-{h8}
mapbox-secret sk.eyJ{a80}.{u22}
maxmind {a6}_{a29}_mmk
minimax sk-cp-{u80}
modal-id ak-{a22}
modal-secret as-{a22}
mollie live_{a30}
mongodb-atlas mdb_sa_sk_{u40}
mongodb-url mongodb+srv://app:{a16}@c0.a1.mongodb.net/db
monday eyJhbGciOiJIUzI1NiJ9.eyJ0aWQiOj{a60}.{u43}
neon napi_{s64}
netlify nfp_{a36}
newrelic-user NRAK-{U27}
newrelic-ingest NRII-{u32}
newrelic-browser NRJS-{h19}
newrelic-license {h36}NRAL
ngrok-auth {a27}_{a21}
notion ntn_{d11}{a35}
notion-old secret_{a43}
npm npm_{a36}
nuget oy2{s43}
nvidia nvapi-{u64}
nylas nyk_v0_{a66}
okta 00{u40}
onepassword-service ops_eyJ{a250}
onepassword-secret A3-{U6}-{U6}-{U5}-{U5}-{U5}-{U5}
onepassword-secret-sixes A3-{U6}-{U6}-{U6}-{U6}-{U6}
openai-old sk-{a20}T3BlbkFJ{a20}
openai-project sk-proj-{u74}T3BlbkFJ{u74}
openai-service sk-svcacct-{u74}T3BlbkFJ{u58}
openai-admin sk-admin-{u74}T3BlbkFJ{u58}
opencode-zen sk-{a64}
openrouter sk-or-v1-{h64}
packagist packagist_uut_{h68}
packagist-org packagist_ort_{h68}
paddle pdl_live_apikey_01{s24}_{a22}_{a3}
pagerduty u+{u18}
pagerduty-y y_{u18}
paypal-braintree access_token$production${s16}${h32}
paystack sk_live_{h40}
perplexity pplx-{a48}
pinecone pcsk_{a6}_{a63}
plaid access-production-{g}
plaid-sandbox access-sandbox-{g}
planetscale-token pscale_tkn_{u43}
planetscale-password pscale_pw_{u43}
planetscale-oauth pscale_oauth_{u43}
postman PMAK-{h24}-{h34}
postman-collection PMAT-{U26}
posthog-personal phx_{a43}
posthog-project phc_{a43}
prefect pnu_{s36}
prefect-b pnb_{s36}
private-key-b64 LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tL{b200}
pubnub-secret sec-c-{a48}
pulumi pul-{h40}
pypi pypi-AgEIcHlwaS5vcmc{u120}
pypi-test pypi-AgENdGVzdC5weXBpLm9yZw{u120}
railway-team rw_Fe26.2**{h64}
razorpay rzp_live_{a14}
readme rdme_{s70}
render rnd_{a32}
replicate r8_{a37}
resend re_{a8}_{a24}
riot RGAPI-{g}
rubygems rubygems_{h48}
runpod rpa_{U32}{s10}
rootly rootly_{h64}
salesforce 00D{a12}!{a96}
sanity sk{a178}
scaleway SCW{U17}
sendgrid SG.{u22}.{u43}
sendinblue xkeysib-{h64}-{a16}
sendinblue-smtp xsmtpsib-{h64}-{a16}
sentry-user sntryu_{h64}
sentry-org sntrys_eyJ{a120}_{b43}
sentry-integration sntryi_{h64}
sentry-dsn https://public:{h32}@o1.ingest.sentry.io/2
settlemint sm_aat_{a16}
shippo shippo_live_{h40}
shopify-admin shpat_{h32}
shopify-custom shpca_{h32}
shopify-private shppa_{h32}
shopify-secret shpss_{h32}
sidekiq https://{h8}:{h8}@gems.contribsys.com
slack-bot xoxb-{d12}-{d12}-{a24}
slack-user xoxp-{d12}-{d12}-{d12}-{h32}
slack-config xoxe.xoxp-1-{a166}
slack-refresh xoxe-1-{a146}
slack-app xapp-1-A{U10}-{d13}-{h64}
slack-legacy xoxo-523423-{a24}
slack-webhook https://hooks.slack.com/services/T{U8}/B{U10}/{a24}
smithery sk-smithery-{u40}
snyk-service snyk_sat.{a8}.{u40}
sonar-user squ_{h40}
sonar-project sqp_{h40}
sonar-analysis sqa_{h40}
sourcegraph sgp_{h16}_{h40}
sourcegraph-old sgp_{h40}
sourcegraph-gateway slk_{h64}
spacelift spl_{a40}
spacelift-url spacelift_{a43}
square-access sq0atp-{u22}
square-secret sq0csp-{u43}
square-prod EAAA{u60}
stability sk-{a48}
statsig secret-{a43}
stripe-live sk_live_{a99}
stripe-test sk_test_{a24}
stripe-org sk_org_live_{a60}
stripe-restricted rk_live_{a99}
stripe-webhook whsec_{b32}
sumologic su{a12}:{a64}
supabase-access sbp_{h40}
supabase-oauth sbp_oauth_{h40}
supabase-secret sb_secret_{u22}_{u8}
svix sk_{a30}.eu
tailscale tskey-auth-k{a11}CNTRL-{a32}
tailscale-api tskey-api-k{a11}CNTRL-{a32}
tavily tvly-{a32}
tavily-dev tvly-dev-{a32}
teams-webhook https://corp.webhook.office.com/webhookb2/{g}@{g}/IncomingWebhook/{h32}/{g}
telegram {d10}:AA{a33}
together tgp_v1_{u43}
trigger-dev tr_prod_{a20}
trigger-pat tr_pat_{s40}
twilio-key SK{h32}
twilio-account AC{h32}
twitch oauth:{s30}
twitter-bearer AAAAAAAAAAAAAAAAAAAAA{a80}
typeform tfp_{u44}_{u14}
vercel vcp_{a56}
vercel-gateway vck_{a56}
vercel-blob vercel_blob_rw_{a16}_{a30}
voyage pa-{u43}
volcengine ark-{g}
wakatime waka_{g}
webflow ws-{h64}
workos sk_live_a2V5X{a60}
xai xai-{a80}
yandex-api AQVN{u36}
yandex-token y0_{u55}
yandex-iam t1.{u60}.{u86}
zai {h32}.{a16}
zapier-mcp zpka_{h32}_{h8}
bcrypt $2b$12${a53}
scrypt $s2$16384$8$1${b43}={b43}=
argon $argon2id$v=19$m=65536,t=3,p=4${b22}${b43}
sha512-crypt $6${a16}${a86}
django-key django-insecure-{s50}
totp otpauth://totp/x?secret={U32}
""".strip().splitlines()
)
# Values that only the name before them gives away: by environment, JSON, YAML and code.
_NAMES = _words("""
    COHERE_API_KEY DATADOG_APP_KEY RAILWAY_TOKEN MISTRAL_API_KEY ALGOLIA_ADMIN_KEY OPSGENIE_API_KEY
    MAILJET_SECRET PAGERDUTY_TOKEN JENKINS_API_TOKEN SERVICE_ACCESS_TOKEN client_secret api_key apiKey
    accessToken auth_token refresh_token secret_key SECRET_KEY_BASE NEXTAUTH_SECRET DEPLOY_KEY signing_key
    WEBHOOK_SECRET bot_token token secret
""")
_BODIES = ("{g}", "{h32}", "{h40}", "{l24}", "{a32}", "{w20}")
_SETTINGS = ("{n}={v}", 'export {n}="{v}"', '{{"{n}": "{v}"}}', "{n}: {v}", "{n} = '{v}'", '{n}: "{v}",')
NAMED: dict[str, str] = {
    f"{name}/{body.strip('{}')}": _SETTINGS[(i + k) % len(_SETTINGS)].replace("{n}", name).replace("{v}", body)
    for i, name in enumerate(_NAMES)
    for k, body in enumerate(_BODIES)
}

# Forms in which people and tools write a password: ``{p}`` is it. All of these stand in transcripts of real work.
PASSWORD_FORMS: dict[str, str] = dict(
    line.split(" | ", 1)
    for line in r"""
env | DB_PASSWORD={p}
env-export | export PGPASSWORD='{p}'
env-mysql | MYSQL_PWD={p} mysql -u root
env-docker | docker run -e POSTGRES_PASSWORD={p} postgres
env-docker-long | docker run --env MYSQL_ROOT_PASSWORD={p} mysql
env-inline | REDISCLI_AUTH={p} redis-cli ping
json | {{"user": "app", "password": "{p}"}}
json-passphrase | {{"passphrase": "{p}"}}
json-camel | {{"dbPassword": "{p}"}}
json-number-port | {{"pwd": "{p}", "port": 5432}}
yaml | password: {p}
yaml-quoted | db_pass: "{p}"
yaml-compose | - POSTGRES_PASSWORD={p}
toml | password = "{p}"
ini | pw = {p}
properties | spring.datasource.password={p}
python | password = "{p}"
python-kwarg | connect(user="app", password="{p}")
python-dict | creds = {{'passwd': '{p}'}}
ruby-hash | password: '{p}'
ruby-arrow | :password => '{p}'
php-define | define('DB_PASSWORD', '{p}');
php-array | 'password' => '{p}',
go | cfg.Password = "{p}"
rust | let password = "{p}";
java-setter | config.setPassword("{p}");
csharp | Server=db;User Id=sa;Password={p};
jdbc | jdbc:sqlserver://h:1433;user=sa;password={p};
jdbc-query | jdbc:mysql://h/db?user=app&password={p}
odbc | Driver=x;Uid=app;Pwd={p};
libpq | host=db user=app password={p} dbname=x
url-postgres | postgres://app:{q}@db:5432/x
url-redis | redis://:{q}@cache:6379/0
url-amqp | amqp://guest:{q}@mq:5672/
url-https | https://bot:{q}@git.corp.net/x.git
url-query | https://h.corp.net/login?user=a&password={q}
url-encoded | body=user%3Dapp%26password%3D{q}%26go%3D1
url-encoded-json | %7B%22password%22%3A%22{q}%22%7D
xml | <password>{x}</password>
xml-attribute | <user name="a" password="{x}"/>
xml-maven | <server><id>a</id><password>{x}</password></server>
xml-config | <add key="DbPassword" value="{x}" />
plist | <key>Password</key><string>{x}</string>
sql-create | CREATE USER app WITH PASSWORD '{p}';
sql-alter | ALTER ROLE app PASSWORD '{p}';
sql-encrypted | CREATE ROLE app LOGIN ENCRYPTED PASSWORD '{p}';
sql-identified | CREATE USER 'app'@'%' IDENTIFIED BY '{p}';
sql-identified-with | ALTER USER 'app'@'%' IDENTIFIED WITH mysql_native_password BY '{p}';
sql-set | SET PASSWORD FOR 'app'@'%' = PASSWORD('{p}');
sql-login | CREATE LOGIN app WITH PASSWORD = '{p}';
mysql-glued | mysql -uroot -p{s} db
mysql-long | mysqldump --password={s} db
psql-pgpass | db.corp.net:5432:app:admin:{s}
redis-cli | redis-cli -h cache -a {s} ping
mongo | mongosh -u admin -p {s} --authenticationDatabase admin
sshpass | sshpass -p '{p}' ssh root@h
sshpass-glued | sshpass -p{s} ssh root@h
curl-user | curl -u admin:{s} https://h/x
curl-user-long | curl --user 'admin:{p}' https://h/x
wget | wget --user=a --password={s} https://h/x
wget-http | wget --http-password={s} https://h/x
httpie | http -a admin:{s} https://h/x
docker-login | docker login -u bot -p {s} registry.corp.net
docker-login-pipe | echo {s} | docker login -u bot --password-stdin
helm | helm registry login h -u bot -p {s}
gh-secret | gh secret set DB_PASS --body "{p}"
gh-secret-short | gh secret set DEPLOY_TOKEN -b '{p}'
glab-variable | glab variable set DB_PASSWORD "{p}"
heroku-config | heroku config:set SECRET_TOKEN={s}
fly-secrets | fly secrets set DATABASE_PASSWORD={s}
wrangler-pipe | echo "{p}" | wrangler secret put API_SECRET
kubectl-literal | kubectl create secret generic db --from-literal=password={s}
kubectl-docker | kubectl create secret docker-registry r --docker-password={s}
aws-secrets | aws secretsmanager create-secret --name db --secret-string '{p}'
aws-ssm | aws ssm put-parameter --name /db/password --type SecureString --value '{p}'
az-password | az login --service-principal -u a -p {s} --tenant t
az-vault | az keyvault secret set --vault-name v --name db --value '{p}'
gcloud-pipe | printf '{p}' | gcloud secrets create db --data-file=-
vault-kv | vault kv put secret/db password={s}
vault-login | vault login -method=userpass username=a password={s}
htpasswd | htpasswd -bc .htpasswd admin {s}
htpasswd-n | htpasswd -nbB admin '{p}'
keytool | keytool -genkey -storepass {s} -keypass {s}
jarsigner | jarsigner -storepass {s} app.jar key
ldapsearch | ldapsearch -x -D cn=admin -w {s} -b dc=x
ldapmodify | ldapmodify -D "cn=admin" -w '{p}' -f x.ldif
npm-config | npm config set //registry.corp.net/:_authToken {s}
npmrc | //registry.corp.net/:_authToken={s}
npmrc-password | //registry.corp.net/:_password={s}
openssl-passin | openssl rsa -in k.pem -passin pass:{s}
openssl-passout | openssl genrsa -aes256 -passout pass:{s} 4096
openssl-k | openssl enc -aes-256-cbc -k {s} -in a
gpg | gpg --batch --passphrase '{p}' -c a
ssh-keygen | ssh-keygen -t ed25519 -N '{p}' -f k
zip | zip -P {s} a.zip b
sevenzip | 7z a -p{s} a.7z b
unzip | unzip -P {s} a.zip
pdf | qpdf --encrypt {s} {s} 256 -- a.pdf b.pdf
sudo | echo {s} | sudo -S apt update
sudo-here | sudo -S true <<< '{p}'
su-expect | expect "assword:"; send "{p}\r"
chpasswd | echo 'root:{p}' | chpasswd
passwd-stdin | echo "{p}" | passwd --stdin root
useradd | useradd -p '{p}' app
smbclient | smbclient //h/s -U 'corp%{p}'
mount-cifs | mount -t cifs //h/s /m -o username=a,password={s}
net-use | net use z: \\\\h\\s /user:corp {s}
wpa | wpa_passphrase "office" "{p}"
nmcli | nmcli dev wifi connect office password "{p}"
wifi-psk | psk="{p}"
setx | setx DB_PASSWORD "{p}"
powershell | ConvertTo-SecureString "{p}" -AsPlainText -Force
powershell-env | $env:DB_PASSWORD = "{p}"
rclone | rclone config create r sftp host h pass {s}
restic | RESTIC_PASSWORD={s} restic backup /
borg | export BORG_PASSPHRASE="{p}"
ansible | ansible_become_pass={s}
ansible-ssh | ansible_ssh_pass: "{p}"
terraform | variable "p" {{ default = "x" }}\nadmin_password = "{p}"
netrc | machine h.corp.net login bot password {s}
git-credential | protocol=https\nhost=h\nusername=a\npassword={s}
ftp | lftp -u bot,{s} ftp.corp.net
rabbitmq | rabbitmqctl add_user app {s}
minio | mc alias set m https://h ACCESS {s}
basic-auth | Authorization: Basic {64}
bearer | Authorization: Bearer {s}
header-key | X-Api-Key: {s}
header-token | PRIVATE-TOKEN: {s}
cookie | Cookie: theme=dark; session={s}
set-cookie | Set-Cookie: sid={s}; Path=/; HttpOnly
told | the password is {p}
told-for | the password for staging is {p}
told-set | I set the root password to {p} for now
told-pw | pw: {p}
told-pass | user: admin pass: {p}
told-login | Login: admin / {p}
told-credentials | credentials: admin/{p}
told-user-line | username: admin\npassword: {p}
told-german | das Passwort lautet {p}
told-german-ist | Das Kennwort ist {p}
told-german-colon | Passwort: {p}
told-french | le mot de passe est {p}
told-french-colon | mot de passe : {p}
told-spanish | la contraseña es {p}
told-spanish-colon | contraseña: {p}
told-portuguese | a senha é {p}
told-italian | la password è {p}
told-dutch | het wachtwoord is {p}
told-chinese | 密码是 {p}
told-chinese-colon | 密码：{p}
told-japanese | パスワードは {p} です
told-korean | 비밀번호: {p}
told-russian | пароль: {p}
told-pin | the PIN is {6}
told-otp | the one-time code is {6}
told-seed | seed phrase: {12w}
told-mnemonic | MNEMONIC="{12w}"
""".strip().splitlines()
)

_WORDS = _words("""
    ribbon canvas orbit velvet tunnel maple harbor lantern cactus window pepper saddle marble candle bridge
    meadow copper garlic helmet island jungle kettle lizard magnet
""")


def make_password(rng: random.Random, signs: bool = True) -> str:
    """A password as people type them: a few letters, digits and, with ``signs``, a sign; sometimes a generated one."""
    if rng.random() < 0.4:
        return "".join(rng.choice(_ALNUM) for _ in range(13)) + rng.choice("23456789")
    body = rng.choice(_WORDS).capitalize() + str(rng.randrange(10, 9999)) + rng.choice(_WORDS)
    return body + (rng.choice("!#*+") if signs else "")


def fill_password_form(rng: random.Random, form: str) -> tuple[str, str]:
    """Return (text, secret) of one form of :data:`PASSWORD_FORMS`."""
    form = form.replace("\\n", "\n")
    signs = "{s}" not in form
    secret = make_password(rng, signs)
    forms = {"p": secret, "s": secret, "q": quote(secret, safe=""), "x": secret, "6": "", "64": "", "12w": ""}
    if "{6}" in form:
        secret = forms["6"] = str(rng.randrange(234567, 987654))
    if "{64}" in form:
        secret = forms["64"] = base64.b64encode(f"admin:{secret}".encode()).decode()
    if "{12w}" in form:
        secret = forms["12w"] = " ".join(rng.choice(_WORDS) for _ in range(12))
    if "{q}" in form:
        secret = forms["q"]
    for slot, value in forms.items():
        form = form.replace("{" + slot + "}", value)
    return form.replace("{{", "{").replace("}}", "}"), secret


def _unicode_escaped(text: str) -> str:
    return "".join(f"\\u{ord(ch):04x}" for ch in text)


def _in_lines(text: str, width: int, joint: str) -> str:
    return joint.join(text[start : start + width] for start in range(0, len(text), width))


def _halves(text: str) -> tuple[str, str]:
    return text[: len(text) // 2], text[len(text) // 2 :]


Wrap = Callable[[str], str]
# Ways in which a token stands in other text, or in another spelling.
WRAPPINGS: dict[str, Wrap] = {
    "prose": lambda v: f"please use {v} for the call.",
    "markdown-code": lambda v: f"set it to `{v}` and run",
    "markdown-bold": lambda v: f"the key is **{v}**",
    "table": lambda v: f"| key | {v} |",
    "colour": lambda v: f"\x1b[32m{v}\x1b[0m",
    "json": lambda v: json.dumps({"note": f"it is\n{v}\nthere"}),
    "json-twice": lambda v: json.dumps(json.dumps({"note": v, "q": 'a"b'})),
    "diff": lambda v: f'@@ -1 +1 @@\n-const k = ""\n+const k = "{v}"\n',
    "url": lambda v: f"https://h.corp.net/x?go={v}&y=1",
    "path": lambda v: f"notes/{v}/todo.md",
    "line-number": lambda v: f"    12\t{v}\n    13\tend",
    "hex": lambda v: f"data = {v.encode().hex()} end",
    "hex-escaped": lambda v: "s = '" + "".join(f"\\x{byte:02x}" for byte in v.encode()) + "'",
    "percent": lambda v: "x=" + "".join(f"%{byte:02X}" for byte in v.encode()) + "&y=1",
    "base64": lambda v: f"data: {base64.b64encode(v.encode()).decode()} end",
    "base64-sentence": lambda v: base64.b64encode(f"the key is {v} as agreed".encode()).decode(),
    "base64-json": lambda v: base64.b64encode(json.dumps({"user": "app", "value": v, "n": 1}).encode()).decode(),
    "base64-kubernetes": lambda v: f"kind: Secret\ndata:\n  value: {base64.b64encode(v.encode()).decode()}\n",
    "base64-url": lambda v: base64.urlsafe_b64encode(f"??>>{v}".encode()).decode().rstrip("="),
    "base64-wrapped": lambda v: _in_lines(base64.b64encode(f"{v} is the key for it all".encode()).decode(), 40, "\n"),
    "unicode-escaped": lambda v: f'"{_unicode_escaped(v)}"',
    "unicode-escaped-twice": lambda v: json.dumps(f'"{_unicode_escaped(v)}"'),
    "80-columns": lambda v: _in_lines("x" * 9 + " " + "y" * 50 + " " + v, 80, "\n"),
    "30-columns": lambda v: _in_lines(v, 30, "\n"),
    "zero-width": lambda v: f"use {v[:9]}\u200b{v[9:]} now",
    "soft-hyphen": lambda v: f"use {v[:7]}\u00ad{v[7:15]}\u00ad{v[15:]} now",
    "concatenated": lambda v: 'k = "{}" + "{}"'.format(*_halves(v)),
    "concatenated-lines": lambda v: "k = ('{}'\n     '{}')".format(*_halves(v)),
    "concatenated-plus-lines": lambda v: 'k = "{}" +\n    "{}";'.format(*_halves(v)),
    "backslash-line": lambda v: "export K={}\\\n{}".format(*_halves(v)),
    "two-lines": lambda v: "key:\n{}\n{}\n".format(*_halves(v)),
}
# The tokens that every wrapping is tried with.
WRAPPED = _words("""
    anthropic-api aws-access github-pat github-fine gitlab-pat huggingface openai-project
    slack-bot stripe-live sendgrid npm gcp-api jwt openrouter
""")

# Personal data. The name is "quentin", whose machine it is not; numbers are drawn and carry a right check digit.


def _luhn(rng: random.Random, prefix: str, size: int) -> str:
    digits = [int(ch) for ch in prefix] + [rng.randrange(10) for _ in range(size - len(prefix) - 1)]
    total = sum(sum(divmod(2 * d, 10)) if i % 2 == 0 else d for i, d in enumerate(reversed(digits)))
    return "".join(map(str, digits)) + str(-total % 10)


def make_iban(rng: random.Random) -> str:
    """A German IBAN with right check digits."""
    account = "".join(str(rng.randrange(10)) for _ in range(18))
    check = 98 - int(account + "131400") % 97
    return f"DE{check:02d}{account}"


def _spaced(text: str, size: int) -> str:
    return " ".join(text[start : start + size] for start in range(0, len(text), size))


PERSONAL: dict[str, str] = dict(
    line.split(" | ", 1)
    for line in r"""
home-linux | /home/{n}/src/app.py
home-linux-end | cd /home/{n}
home-linux-variable | HOME=/home/{n}
home-linux-json | {{"cwd": "/home/{n}"}}
home-mac | /Users/{n}/Library
home-mac-end | it is in /Users/{n}.
home-windows | C:\Users\{n}\repo
home-windows-end | USERPROFILE=C:\Users\{n}
home-windows-json | {{"cwd": "C:\\Users\\{n}"}}
home-windows-slash | c:/Users/{n}/repo
home-git-bash | /c/Users/{n}/repo
home-wsl | /mnt/c/Users/{n}/repo
home-cygwin | /cygdrive/c/Users/{n}/repo
home-uri | file:///home/{n}/x
home-uri-windows | file:///c%3A/Users/{n}/x
home-dashed | projects/-home-{n}-src-app/1.jsonl
home-export | /export/home/{n}/x
home-usr | /usr/home/{n}/x
home-var | /var/home/{n}/x
home-nfs | /nfs/home/{n}/x
home-old-windows | C:\Documents and Settings\{n}\x
tilde | ~{n}/src/app.py
unc-users | \\fileserver\Users\{n}\x
unc-wsl | \\wsl$\Ubuntu\home\{n}\x
unc-wsl-localhost | \\wsl.localhost\Ubuntu\home\{n}\x
domain-user | whoami\ncorp\{n}
domain-runas | runas /user:CORP\{n} cmd
user-variable | USER={n}
username-variable | USERNAME={n}
logname | LOGNAME={n}
sudo-user | SUDO_USER={n}
user-json | {{"USER": "{n}"}}
id | uid=1000({n}) gid=1000({n}) groups=1000({n}),27(sudo)
ls | drwxr-xr-x 2 {n} staff 4096 Jan  1 10:00 src
ls-file | -rw-r--r--@ 1 {n} {n} 120 Jan  1 10:00 a.txt
prompt | {n}@laptop:~/src$ make
prompt-brackets | [{n}@host src]$ make
ps | {n}   1234  0.0  0.1 12345 678 ?  Ss 10:00 0:00 bash
ssh | ssh {n}@build.corp.net
email | ask {n}@fabrikam.io
email-dotted | {n}.fox@mail.fabrikam.io
email-quoted | "Quentin Fox" <{n}@fabrikam.io>
email-at | {n} (at) fabrikam.io
email-brackets | {n} [at] fabrikam [dot] io
email-percent | mailto:{n}%40fabrikam.io
email-idn | {n}@bücher.io
email-escaped | {n}\u0040fabrikam.io
ipv4 | from {ip4} port 22
ipv6 | from {ip6} port 22
ipv6-brackets | http://[{ip6}]:80/
mac | ether {mac} txqueuelen 1000
mac-dashes | Physical Address: {mac-}
phone | call +49 {d3} {d8}
phone-us | Tel: +1 ({d3}) 555-{d4}
phone-e164 | phone: +44{d10}
phone-tel | tel:+33-1-{d2}-{d2}-{d2}-{d2}
iban | pay to {iban}
iban-spaced | IBAN: {iban4}
card | card {card}
card-spaced | card number {card4}
card-dashes | {card-}
card-amex | amex {amex}
ssn | SSN: {ssn}
""".strip().splitlines()
)


def fill_personal_form(rng: random.Random, form: str) -> tuple[str, str]:
    """Return (text, what must be gone) of one form of :data:`PERSONAL`."""
    form = form.replace("\\n", "\n")
    card, iban = _luhn(rng, rng.choice(("4", "51")), 16), make_iban(rng)
    octets = [rng.choice((5, 31, 78, 91, 185)), rng.randrange(256), rng.randrange(256), rng.randrange(1, 255)]
    mac = [f"{rng.randrange(256):02x}" for _ in range(5)]
    groups = [f"{rng.randrange(0x1000, 0xFFFF):x}" for _ in range(6)]
    values = {
        "n": "quentin",
        "ip4": ".".join(map(str, octets)),
        "ip6": ":".join(["2a02", "8108", *groups]),
        "mac": ":".join(["3c", *mac]),
        "mac-": "-".join(["3C", *mac]).upper(),
        "iban": iban,
        "iban4": _spaced(iban, 4),
        "card": card,
        "card4": _spaced(card, 4),
        "card-": _spaced(card, 4).replace(" ", "-"),
        "amex": _luhn(rng, "37", 15),
        "ssn": f"{rng.randrange(101, 665)}-{rng.randrange(10, 99)}-{rng.randrange(1000, 9999)}",
    }
    gone = ""
    for slot, value in values.items():
        if "{" + slot + "}" in form:
            form, gone = form.replace("{" + slot + "}", value), value
    if "{d" in form:
        form = re.sub(r"\{d(\d+)\}", lambda m: "".join(rng.choice("23456789") for _ in range(int(m[1]))), form)
        gone = re.findall(r"[\d\-]{4,}", form)[-1]
    return form.replace("{{", "{").replace("}}", "}"), gone


# A token's contexts: as trial and error shows them in transcripts.
CONTEXTS: dict[str, Wrap] = {
    "prose": lambda v: f"please use {v} for the call",
    "json": lambda v: json.dumps({"line": json.dumps({"note": f"run\n{v}"})}),
    "code": lambda v: f'+  const k = "{v}";',
    "environment": lambda v: f"SOME_SERVICE_VALUE={v}",
}
