# network.sh: sourced by the scripts that fetch packages with apt or pip. On a machine without
# network these try again and again and then name some package that they could not find; here it
# is one sentence.

# As often as is worth waiting for, unless somebody has asked for more: pip asks six times by
# default, with growing pauses.
export PIP_RETRIES="${PIP_RETRIES:-2}"

# is_offline FILE: whether these are messages of an apt or a pip that failed because it got no
# connection, and not for another reason, as a hash that differs or a certificate that is refused.
is_offline() {
    if grep -Eqi 'SSLError|certificate' "$1"; then return 1; fi
    failed='from versions: none|No matching distribution|Max retries exceeded|timed out|onnection'
    if grep -Eq "^ERROR: .*($failed)" "$1"; then
        grep -Eq 'connection broken by|Max retries exceeded|timed out|Connection' "$1"
    else
        unreached='Could not (connect|resolve)|Temporary failure resolving|Unable to connect'
        unreached="$unreached|Cannot initiate the connection|Network is unreachable"
        grep -q '^E: ' "$1" && grep -Eq "$unreached" "$1"
    fi
}

# fetch WHAT REMEDY COMMAND...: runs a command that fetches WHAT. What it says on stderr is shown,
# unless it failed because no registry answers: then offline=yes, and the sentence is said.
fetch() {
    what=$1
    instead=$2
    shift 2
    said=$(mktemp) || exit 1
    fetched=0
    offline=no
    "$@" 2>"$said" || fetched=$?
    if [ $fetched != 0 ] && is_offline "$said"; then
        offline=yes
        echo "this machine cannot reach the package registries, which have $what: connect it to" \
            "the network, or name a mirror or a proxy (PIP_INDEX_URL, /etc/apt/sources.list," \
            "https_proxy), and repeat the command; or $instead" >&2
    else
        cat "$said" >&2
    fi
    rm -f "$said"
    return $fetched
}
