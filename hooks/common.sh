# Everything here is plain POSIX sh and starts as few processes as it can: a commit is waiting.
set +e # husky runs its hooks under `sh -e`

# A relative entry of PATH, or an empty one, names whatever the work tree holds: our part looks for no program there.
rekal_user_path=$PATH
case :$PATH: in
    *:[!/]*)
        rekal_rest=$PATH:
        PATH=
        while [ -n "$rekal_rest" ]; do
            case $rekal_rest in /*) PATH=$PATH${PATH:+:}${rekal_rest%%:*} ;; esac
            rekal_rest=${rekal_rest#*:}
        done
        PATH=${PATH:-/usr/bin:/bin}
        ;;
esac

# Finds this clone's store without asking git (a process costs a millisecond or more). What the work tree holds is not
# looked at: a checkout may bring anything. Sets rekal_git (this work tree's git directory), rekal_common (the shared
# one), rekal_home (what rekal keeps in it) and rekal_root (the main work tree, absolute).
rekal_find() {
    rekal_git=${GIT_DIR:-.git}
    if [ -f "$rekal_git" ]; then # a linked work tree or a submodule: one line, "gitdir: <path>"
        IFS= read -r rekal_git < "$rekal_git"
        rekal_git=${rekal_git#gitdir: }
    fi
    rekal_common=$rekal_git
    rekal_root=. # git starts hooks at the top of the work tree
    if [ -f "$rekal_git/commondir" ]; then
        IFS= read -r rekal_common < "$rekal_git/commondir"
        case $rekal_common in /* | ?:/*) ;; *) rekal_common=$rekal_git/$rekal_common ;; esac
        rekal_root=$rekal_common/..
        [ -e "$rekal_root/.git" ] || rekal_root=$rekal_common # linked to a bare repository
    fi
    rekal_home=$rekal_common/rekal
    if [ -f "$rekal_common/rekal-root" ]; then # the main work tree is not next to its git directory
        IFS= read -r rekal_root < "$rekal_common/rekal-root"
    fi
    case $rekal_root in .) rekal_root=$PWD ;; /* | ?:/*) ;; *) rekal_root=$PWD/$rekal_root ;; esac
    [ -d "$rekal_home/spool" ] && [ ! -f "$rekal_home/disabled" ]
}

# Sets rekal_exe, or fails when rekal is not on this machine any more. A relative entry of PATH names whatever the
# work tree holds, and so does an entry below it.
rekal_locate() {
    rekal_exe=@REKAL@
    [ -x "$rekal_exe" ] || rekal_exe=$(command -v rekal) || rekal_exe=${HOME-}/.local/bin/rekal
    case $rekal_exe in @REKAL@) ;; "$rekal_root"/*) return 1 ;; /* | ?:/*) ;; *) return 1 ;; esac
    [ -x "$rekal_exe" ]
}

# Sets rekal_json to $1 as the inside of a JSON string.
rekal_escape() {
    rekal_json=$1
    case $1 in *[[:cntrl:]\"\\]*) ;; *) return ;; esac
    rekal_json=
    rekal_rest=$1
    while [ -n "$rekal_rest" ]; do
        rekal_tail=${rekal_rest#?}
        rekal_char=${rekal_rest%"$rekal_tail"}
        case $rekal_char in
            [\"\\]) rekal_json=$rekal_json\\$rekal_char ;;
            [[:cntrl:]]) rekal_json=$rekal_json$(printf '\\u%04x' "'$rekal_char") ;;
            *) rekal_json=$rekal_json$rekal_char ;;
        esac
        rekal_rest=$rekal_tail
    done
}

# Sets rekal_sha to HEAD's commit: read from the files, from git only when they do not say (packed, reftable).
rekal_head() {
    IFS= read -r rekal_sha < "$rekal_git/HEAD"
    case $rekal_sha in
        'ref: '*) IFS= read -r rekal_sha < "$rekal_common/${rekal_sha#ref: }" ;;
    esac
    case $rekal_sha in
        *[!0-9a-f]* | '') rekal_sha=$(git rev-parse --verify --quiet HEAD) ;;
    esac
}

# Puts one event into the spool: rekal_event KIND FIELDS, with FIELDS as JSON members that end in a comma. Readers pass
# over names that begin with a dot, so they never see half an event.
rekal_event() {
    case $rekal_git in
        /* | ?:/*) rekal_escape "$rekal_git" ;;
        .) rekal_escape "$PWD" ;;
        *) rekal_escape "$PWD/$rekal_git" ;;
    esac
    rekal_at=$(date +%s)
    rekal_name=$rekal_at-$$-$1.json
    rekal_spool=$rekal_home/spool
    if printf '{"kind":"%s",%s"git_dir":"%s","at":%s}\n' "$1" "$2" "$rekal_json" "$rekal_at" > "$rekal_spool/.$rekal_name"
    then mv -f "$rekal_spool/.$rekal_name" "$rekal_spool/$rekal_name"
    else rm -f "$rekal_spool/.$rekal_name"
    fi
}

# Leaves what git told this hook about the repository and the commit behind: for rekal they would point elsewhere.
rekal_clean_env() {
    unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_PREFIX GIT_COMMON_DIR GIT_OBJECT_DIRECTORY GIT_CONFIG \
        GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_CONFIG_PARAMETERS GIT_CONFIG_COUNT GIT_NAMESPACE GIT_IMPLICIT_WORK_TREE \
        GIT_GRAFT_FILE GIT_SHALLOW_FILE GIT_NO_REPLACE_OBJECTS GIT_REPLACE_REF_BASE GIT_QUARANTINE_PATH GIT_EXEC_PATH \
        GIT_REFLOG_ACTION GIT_EDITOR GIT_SEQUENCE_EDITOR GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_AUTHOR_DATE \
        GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL GIT_COMMITTER_DATE
}

# Starts the worker that drains the spool and does not wait for it: no terminal, no file of the caller stays open.
rekal_start() {
    rekal_locate || return
    (
        cd "$rekal_home" || exit # not the work tree: nothing there is to be found by a program that looks around itself
        rekal_clean_env
        REKAL_INTERNAL=1 PYTHONSAFEPATH=1
        export REKAL_INTERNAL PYTHONSAFEPATH
        trap '' HUP
        exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-
        # One worker works, one waits. Where one waits already, it has not looked at the spool yet and finds this event.
        # The lock goes over to the program with its handle, so that in between nobody else takes it.
        if command -v flock; then
            exec 9<> worker.waiting || exit
            flock -n 9
            [ $? -ne 1 ] || exit
        fi
        if command -v setsid; then exec setsid "$rekal_exe" -C "$rekal_root" _worker; fi
        exec "$rekal_exe" -C "$rekal_root" _worker
    ) < /dev/null > /dev/null 2>> "$rekal_home/worker.log" &
}

# Says once that the store is gone, under both of its names, or all that rekal kept beside it: from then on nothing is
# captured.
rekal_say_gone() {
    if [ -f "$rekal_home/lock" ]; then
        [ -f "$rekal_home/data.db" ] || [ -f "$rekal_root/.rekal/data.db" ] && return
    else
        # Only a hook of this repository alone tells that it had a store: other repositories may share a directory.
        [ ! -e "$rekal_home" ] && [ "$rekal_common/hooks/${0##*/}" -ef "$0" ] || return
        mkdir -m 700 "$rekal_home" 2> /dev/null || return
    fi
    [ -f "$rekal_home/said-gone" ] && return
    { true > "$rekal_home/said-gone"; } 2> /dev/null || return # not with `:`, whose failure would end the hook
    echo 'rekal: the store of this repository is gone and nothing is captured; `rekal init` makes a new one' >&2
}

# Whether there is a hook to run that was here before rekal: as for git, one that is not executable is none.
rekal_has_chained() {
    @HAS_CHAINED@
}

# Runs that hook and answers with its exit code.
rekal_chained() {
    rekal_has_chained || return 0
    PATH=$rekal_user_path # it runs as if we were not here
    @CHAINED@
}
