#!/bin/sh
# Installs Chromium and its driver for the tests of the page, where they are missing and that may be done: with apt-get,
# as root or with a sudo that asks for no password.  It says what it does, gives up after a while, and never fails: the
# tests of the page are then skipped and say what to install.
#
#   ELBOWROOM_BROWSER=no   leaves the machine as it is

LIMIT=240 # s for each of its steps
WANTED="chromium chromium-driver"

say() { echo "browser: $*"; }
has() { command -v "$1" >/dev/null 2>&1; }

browser=no
for name in chromium chromium-browser google-chrome google-chrome-stable chrome; do
    if has "$name"; then browser=yes; fi
done
if [ -x "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome" ]; then browser=yes; fi
if [ "$browser" = yes ] && has chromedriver; then exit 0; fi

later="its tests will be skipped; install a Chromium and its chromedriver to run them"
if [ "$ELBOWROOM_BROWSER" = no ]; then say "none, as ELBOWROOM_BROWSER=no says; $later"; exit 0; fi
if ! has apt-get || ! has timeout; then say "there is none, and no apt-get to get one; $later"; exit 0; fi
if [ "$(id -u)" = 0 ]; then
    as_root=env
elif has sudo && sudo -n true 2>/dev/null; then
    as_root="sudo -n env"
else
    say "there is none, and only root may install one (apt-get install $WANTED); $later"
    exit 0
fi

get() {
    # shellcheck disable=SC2086  # words on purpose
    timeout -k 10 "$LIMIT" $as_root DEBIAN_FRONTEND=noninteractive apt-get -qq -y \
        -o Acquire::Retries=1 -o Acquire::http::Timeout=20 -o Acquire::https::Timeout=20 \
        -o DPkg::Lock::Timeout=60 "$@" </dev/null
}

say "there is none; installing $WANTED with apt-get (ELBOWROOM_BROWSER=no leaves it out)"
log=$(mktemp)
# Lists that are at hand may do; they are renewed when they do not.
# shellcheck disable=SC2086
if get install --no-install-recommends $WANTED >"$log" 2>&1 ||
    { get update >"$log" 2>&1 && get install --no-install-recommends $WANTED >>"$log" 2>&1; }; then
    say "installed"
else
    say "apt-get could not: $(grep -E '^E:' "$log" | head -n 1); $later"
fi
rm -f "$log"
exit 0
