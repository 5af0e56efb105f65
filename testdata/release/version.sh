#!/usr/bin/env bash
# version.sh DESCRIBED SECONDS: the version of a package, from what "git describe --tags --always --dirty" says of the commit and
# its time. Packages are ordered as commits are: a release candidate before its release, what follows a tag behind it, and
# where there is no tag by time.
set -euo pipefail
described=$1 seconds=$2
tag=${described%-dirty}
behind=
[ "$tag" = "$described" ] || behind=.dirty
if [[ $tag =~ ^(.*)-([0-9]+)-(g[0-9a-f]+)$ ]]; then
	tag=${BASH_REMATCH[1]}
	behind=.${BASH_REMATCH[2]}.${BASH_REMATCH[3]}$behind
fi
case $tag in
v[0-9]*) version=${tag#v} version=${version/-/\~} ;;
*) version=0.0.$(date -u -d "@$seconds" +%Y%m%d.%H%M%S) behind=.$tag$behind ;;
esac
version=${version//-/.}${behind:++${behind#.}}
echo "${version}"
