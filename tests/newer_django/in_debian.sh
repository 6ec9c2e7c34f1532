#!/bin/sh
# Tries Cronograph with Django 6.0 and 6.1, which need a newer Python than this machine may have, and with 5.2 and
# django-tasks: as root, in a Debian trixie that debootstrap puts into a folder (build/trixie unless given). What is there
# already is used again.
#
# With each of them Django's own tests of task backends run against ours (with 5.2 those of 6.0), then our tests of
# cronograph.django on SQLite.
set -eu
cd "$(dirname "$0")/../.."
root=$(realpath -m "${1:-build/trixie}")
[ "$(id -u)" = 0 ] || { echo "in_debian.sh: must be run as root: debootstrap makes a system of its own" >&2; exit 1; }
command -v debootstrap >/dev/null || apt-get install -y -qq debootstrap
[ -x "$root/usr/bin/python3" ] || debootstrap --variant=minbase \
    --include=python3,python3-venv,python3-pip,ca-certificates trixie "$root"
cp /etc/resolv.conf "$root/etc/resolv.conf"
# An authority of this machine's own.
cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/ca-certificates.crt"

inside() { chroot "$root" env -i PATH=/usr/bin:/bin HOME=/root LANG=C.UTF-8 CRONOGRAPH_SKIP_WEB=1 \
    PIP_CERT=/etc/ssl/certs/ca-certificates.crt PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore "$@"; }

rm -rf "$root/src/cronograph"
mkdir -p "$root/src/cronograph"
git ls-files -z --cached --others --exclude-standard | tar --create --null --files-from=- --ignore-failed-read \
    | tar --extract --directory "$root/src/cronograph"
for version in 6.0 6.1 5.2; do
    home=/opt/django-$version
    [ -x "$root$home/bin/pip" ] || inside python3 -m venv "$home"
    inside "$home/bin/pip" install --quiet "/src/cronograph[server,test]"
    # pip says that the tests ask for an older one.
    inside "$home/bin/pip" install --quiet "django==$version.*" 2>/dev/null
    exact=$(inside "$home/bin/python" -c 'import django; print(django.__version__)')
    if [ "$version" != 5.2 ]; then
        inside "$home/bin/pip" uninstall --quiet --yes django-tasks
        sources=/src/django-$exact
        if [ ! -d "$root$sources" ]; then
            inside "$home/bin/pip" download --quiet --no-deps --no-binary django "django==$exact" --dest /src
            tar --extract --gzip --file "$root$sources.tar.gz" --directory "$root/src"
        fi
    fi
    [ "$version" != 6.0 ] || first=$sources
    [ "$version" != 5.2 ] || sources=$first
    echo "== Django $exact: its own tests of task backends"
    inside "$home/bin/python" /src/cronograph/tests/newer_django/contract.py "$sources"
    echo "== Django $exact: our tests"
    inside sh -c "cd /src/cronograph && $home/bin/python -m pytest -q -p no:cacheprovider -k sqlite \
        tests/server/test_django.py tests/server/test_django_tasks.py"
    for name in newsroom shop; do
        inside sh -c "cd /src/cronograph && PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 $home/bin/python -m pytest -q -c /dev/null \
            --rootdir docs/examples/$name -p no:cacheprovider -p cronograph.jobs.testing.pytest docs/examples/$name"
    done
done
