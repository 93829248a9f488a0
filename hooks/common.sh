# Everything here is plain POSIX sh and starts as few processes as it can: a commit is waiting.
set +e # husky runs its hooks under `sh -e`

# Finds the store of the repository that git is working on, without asking git (a process costs a millisecond or more).
# Sets rekal_git (this work tree's git directory), rekal_common (the shared one) and rekal_root (where .rekal is).
rekal_find() {
    rekal_git=${GIT_DIR:-.git}
    if [ -f "$rekal_git" ]; then # a linked work tree or a submodule: one line, "gitdir: <path>"
        IFS= read -r rekal_git < "$rekal_git"
        rekal_git=${rekal_git#gitdir: }
    fi
    rekal_common=$rekal_git
    if [ -f "$rekal_git/commondir" ]; then
        IFS= read -r rekal_common < "$rekal_git/commondir"
        case $rekal_common in /* | ?:/*) ;; *) rekal_common=$rekal_git/$rekal_common ;; esac
        # Not ".": whatever a linked work tree holds under that name, the store is with the main one.
        set -- "$rekal_common" "$rekal_common/.."
    else
        set -- . "$rekal_git"
    fi
    for rekal_root; do
        if [ -d "$rekal_root/.rekal/spool" ]; then
            [ ! -f "$rekal_root/.rekal/run/disabled" ]
            return
        fi
    done
    if [ -f "$rekal_common/rekal-root" ]; then # the main work tree is not next to its git directory
        IFS= read -r rekal_root < "$rekal_common/rekal-root"
        [ -d "$rekal_root/.rekal/spool" ] && [ ! -f "$rekal_root/.rekal/run/disabled" ]
        return
    fi
    return 1
}

# Sets rekal_exe, or fails when rekal is not on this machine any more.
rekal_locate() {
    rekal_exe=@REKAL@
    [ -x "$rekal_exe" ] || rekal_exe=$(command -v rekal) || rekal_exe=${HOME-}/.local/bin/rekal
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
    rekal_spool=$rekal_root/.rekal/spool
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
        cd "$rekal_root" || exit
        rekal_clean_env
        REKAL_INTERNAL=1
        export REKAL_INTERNAL
        trap '' HUP
        exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-
        if command -v setsid; then exec setsid "$rekal_exe" _worker; fi
        exec "$rekal_exe" _worker
    ) < /dev/null > /dev/null 2>> "$rekal_root/.rekal/run/worker.log" &
}

# Whether there is a hook to run that was here before rekal: as for git, one that is not executable is none.
rekal_has_chained() {
    @HAS_CHAINED@
}

# Runs that hook and answers with its exit code.
rekal_chained() {
    rekal_has_chained || return 0
    @CHAINED@
}
