#!/usr/bin/env bash
# What `make packages` runs: dist/ with deb and rpm for amd64 and arm64, a bill of materials for each program, an image of both, and
# SHA256SUMS, signed by the key that SIGNING_KEY names.
# VERSION names another version than the commit's tag, else its time. The files depend on the commit, VERSION and
# SOURCE_DATE_EPOCH alone, which is the commit's time unless it is given.
set -euo pipefail
cd "$(dirname "$0")/.."
umask 022
export LC_ALL=C TZ=UTC CGO_ENABLED=0 SOURCE_DATE_EPOCH VERSION

commit=$(git rev-parse --short=12 HEAD 2>/dev/null || true)
: "${SOURCE_DATE_EPOCH:=$(git log -1 --format=%ct)}"
if [ -z "${VERSION:-}" ]; then
  if tag=$(git describe --tags --exact-match --match='v[0-9]*' 2>/dev/null); then
    VERSION=${tag#v}
    VERSION=${VERSION/-/\~} # v1.0.0-rc1 is before 1.0.0
  else
    VERSION=0.0.0~git$(date -d "@$SOURCE_DATE_EPOCH" +%Y%m%d%H%M%S).$commit
  fi
  if [ -n "$(git status --porcelain)" ]; then VERSION+=+changed; fi
fi

stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
cp -R packages examples "$stage"
go build -C tools -buildvcs=false -o "$stage/bin/" github.com/goreleaser/nfpm/v2/cmd/nfpm ./sbom ./image ./manual

compile() { # ARCHITECTURE: Go's paths and Git's state stay out of it
  GOARCH=$1 go build -trimpath -buildvcs=false -ldflags="-s -w -X github.com/realmgate/realmgate/internal/api.revision=$VERSION" \
    -o "$stage/realmgate-$1" ./cmd/realmgate
}

# What all packages have.
host=$(go env GOHOSTARCH)
compile "$host"
for shell in bash zsh fish; do "$stage/realmgate-$host" completion $shell >"$stage/completion.$shell"; done
mkdir "$stage/manual"
"$stage/bin/manual" -version "$VERSION" -date "$(date -d "@$SOURCE_DATE_EPOCH" +%F)" "$PWD/docs/reference" "$stage/manual"
cat >"$stage/changelog" <<END
realmgate ($VERSION-1) unstable; urgency=medium

  * Version $VERSION.${commit:+
    It is made of commit $commit.}

 -- The Realmgate authors <realmgate@users.noreply.github.com>  $(date -R -d "@$SOURCE_DATE_EPOCH")
END
# The licences of all that is linked ask to be told with the program.
go list -deps -f '{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}' ./cmd/realmgate | sort -u |
  while read -r module version folder; do
    for file in "$folder"/LICEN[CS]E* "$folder"/COPYING* "$folder"/NOTICE*; do
      if [ -f "$file" ]; then printf '==== %s %s, %s\n\n%s\n\n' "$module" "$version" "${file##*/}" "$(<"$file")"; fi
    done
  done >"$stage/notices"
vendored=internal/page/assets/vendored
for file in "$vendored"/*.LICENSE.txt; do printf '==== %s\n\n%s\n\n' "${file##*/}" "$(<"$file")"; done >>"$stage/notices"
gzip -9n "$stage"/changelog "$stage"/notices "$stage"/manual/*
# lintian knows no field License in a deb: its licences are in the file copyright.
sed '/^license:/d' packages/nfpm.yaml >"$stage/deb.yaml"
cp packages/nfpm.yaml "$stage/rpm.yaml"

rm -rf dist
mkdir dist
for GOARCH in amd64 arm64; do
  export GOARCH
  if [ "$GOARCH" != "$host" ]; then compile $GOARCH; fi
  ln -f "$stage/realmgate-$GOARCH" "$stage/realmgate"
  "$stage/bin/sbom" "$stage/realmgate" "$VERSION" $vendored/LIST >"dist/realmgate_${VERSION}_$GOARCH.cdx.json"
  for format in deb rpm; do
    (cd "$stage" && bin/nfpm package --config $format.yaml --packager $format --target "$OLDPWD/dist" >/dev/null)
  done
done
mkdir "$stage/documents"
cp packages/copyright "$stage/documents"
cp "$stage/notices.gz" "$stage/documents/third-party-notices.gz"
"$stage/bin/image" "$VERSION" "dist/realmgate_$VERSION.oci.tar" "$stage/documents" "amd64=$stage/realmgate-amd64" "arm64=$stage/realmgate-arm64"
(cd dist && sha256sum -- * >SHA256SUMS)
if [ -n "${SIGNING_KEY:-}" ]; then
  ssh-keygen -q -Y sign -n file -f "$SIGNING_KEY" dist/SHA256SUMS
else
  echo "packages: SHA256SUMS is not signed: SIGNING_KEY=FILE names the SSH key to sign it by" >&2
fi
ls -l dist
