#!/bin/sh
# Make the certificates of etcd: an authority, one certificate for each member, one for the API servers.
#
#   ./etcd-certificates.sh out cp-1=10.0.0.1 cp-2=10.0.0.2 cp-3=10.0.0.3
#
# out/NAME is what belongs into /etc/moorage/etcd of the machine NAME. out/ca.key signs further ones: keep it elsewhere.
# Run again, it uses the authority that is there and makes what is missing: to renew a certificate, move it away first.
set -eu
umask 077
fail() {
  echo "etcd-certificates.sh: $1" >&2
  exit 1
}
[ $# -ge 2 ] || fail "write an output directory and one NAME=ADDRESS for each machine: out cp-1=10.0.0.1 cp-2=10.0.0.2"
out=$1
shift
for machine; do
  case $machine in
    *[!A-Za-z0-9.:=-]* | =* | *= | *=*=*) fail "$machine is not NAME=ADDRESS, such as cp-1=10.0.0.1" ;;
    *=*[!0-9a-fA-F.:]*) fail "$machine: the address is not an IP address" ;;
    *=*) ;;
    *) fail "$machine is not NAME=ADDRESS, such as cp-1=10.0.0.1" ;;
  esac
done
days=${DAYS:-365}
mkdir -p "$out"
if [ ! -e "$out/ca.key" ]; then
  openssl ecparam -name prime256v1 -genkey -noout -out "$out/ca.key"
  openssl req -x509 -new -key "$out/ca.key" -sha256 -days 3650 -subj "/CN=etcd-ca" \
    -addext "keyUsage=critical,keyCertSign,cRLSign" -out "$out/ca.crt"
fi

# issue DIRECTORY FILE COMMON-NAME EXTENSIONS
issue() {
  [ ! -e "$1/$2.crt" ] || return 0
  openssl ecparam -name prime256v1 -genkey -noout -out "$1/$2.key"
  openssl req -new -key "$1/$2.key" -subj "/CN=$3" -out "$1/$2.csr"
  printf '%b' "$4" >"$1/$2.ext"
  said=$(openssl x509 -req -in "$1/$2.csr" -CA "$out/ca.crt" -CAkey "$out/ca.key" -CAcreateserial -sha256 \
    -days "$days" -extfile "$1/$2.ext" -out "$1/$2.crt" 2>&1) || {
    rm -f "$1/$2.key" "$1/$2.csr" "$1/$2.ext" "$1/$2.crt"
    fail "the certificate of $3 cannot be made: $said"
  }
  rm "$1/$2.csr" "$1/$2.ext"
}

for machine; do
  name=${machine%%=*}
  address=${machine#*=}
  mkdir -p "$out/$name"
  cp "$out/ca.crt" "$out/$name/ca.crt"
  # Members speak to each other as clients, too.
  issue "$out/$name" member "$name" \
    "subjectAltName=DNS:$name,DNS:localhost,IP:$address,IP:127.0.0.1\nextendedKeyUsage=serverAuth,clientAuth\nkeyUsage=critical,digitalSignature\n"
  issue "$out/$name" apiserver-etcd-client moorage-apiserver \
    "extendedKeyUsage=clientAuth\nkeyUsage=critical,digitalSignature\n"
done
