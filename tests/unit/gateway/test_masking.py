"""Secrets are taken out of text, however they stand in it, and the rest stays readable."""

import base64
import json
import string
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openshell_bootstrap.gateway.evidence.masking import (
    MASK,
    Mask,
    is_secret_key,
    parts_of_token,
    secrets_of,
)

SECRETS = st.text(st.sampled_from(string.ascii_letters + string.digits + '!"#$%&/\\+~'), min_size=8)
AROUND = st.text(st.sampled_from("ab 01:{}\n"), max_size=12)
WAYS = [
    str,
    json.dumps,
    lambda value: json.dumps(json.dumps({"said": value})),
    lambda value: quote(value, safe=""),
    lambda value: base64.b64encode(value.encode()).decode(),
    lambda value: base64.urlsafe_b64encode(f"user:{value}".encode()).decode(),
    lambda value: base64.b64encode(f"a{value}b".encode()).decode(),
    lambda value: f"https://user:{quote(value, safe='')}@registry.example/v2",
]


@given(SECRETS, AROUND, AROUND, st.sampled_from(WAYS))
def test_a_known_secret_is_never_left_however_it_is_written(secret, before, after, way):
    """What is left of base64 are the letters that its neighbours determine too."""
    written = way(secret)
    masked = Mask(frozenset({secret})).text(f"{before} {written} {after}")
    assert secret not in masked
    assert way(secret) not in masked
    assert MASK in masked


@given(st.lists(SECRETS, max_size=4, unique=True), AROUND)
def test_no_known_secret_survives_because_it_holds_another(secrets, text):
    masked = Mask(frozenset(secrets)).text(text.join(secrets))
    assert not [secret for secret in secrets if secret in masked]


PEM = "-----BEGIN EC PRIVATE KEY-----\nMHcCAQEEIabc\ndef\n-----END EC PRIVATE KEY-----"
LOOKS = [
    ("Authorization: Bearer s3cretvalue", "s3cretvalue"),
    ('"Authorization": ["Basic czNjcmV0dmFsdWU="]', "czNjcmV0dmFsdWU"),
    ("curl -H 'authorization: token s3cretvalue' x", "s3cretvalue"),
    ("X-Registry-Auth: s3cretvalue", "s3cretvalue"),
    ("join with K10" + "ab" * 32 + "::server:s3cretvalue now", "s3cretvalue"),
    ("mysql://root:s3cretvalue@db:3306/x", "s3cretvalue"),
    ("proxy http://s3cretvalue@proxy:3128", "s3cretvalue"),
    ("password=s3cretvalue", "s3cretvalue"),
    ('{"password":"s3cret \\"value","n":1}', "value"),
    ('{\\"password\\":\\"s3cret value\\"}', "value"),
    ("password: 's3cret value'", "value"),
    ("k3s server --token s3cretvalue --node-name=x", "s3cretvalue"),
    ('["server","--token","s3cretvalue"]', "s3cretvalue"),
    ("--etcd-s3-secret-key=s3cretvalue", "s3cretvalue"),
    ("AWS_SECRET_ACCESS_KEY=s3cretvalue", "s3cretvalue"),
    ("MY_API_KEY: s3cretvalue", "s3cretvalue"),
    ("client-key-data: czNjcmV0dmFsdWU=", "czNjcmV0dmFsdWU"),
    (f"found {PEM} there", "MHcCAQEEIabc"),
    (json.dumps({"x": PEM}), "MHcCAQEEIabc"),
    ("MIICdzCCAd+gAwIBAgIJAOc" + "aB3" * 20, "aB3aB3"),
    ("eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJrdWJlIn0.c2lnbmF0dXJl", "eyJpc3MiOiJrdWJlIn0"),
]


@pytest.mark.parametrize(("text", "secret"), LOOKS)
def test_what_looks_like_a_secret_goes_though_nobody_knows_it(text, secret):
    masked = Mask().text(text)
    assert secret not in masked
    assert MASK in masked


READABLE = [
    "sha256:4607083d3cac07e1ccde7317297271d13ed5f60f35a78f33fcef84858a9f1d69",
    "Node password rejected, duplicate hostname or contents of '/etc/rancher/node/password' may",
    "bootstrap data already found and encrypted with different token",
    "openshell: refused: token-differs: the given token is not the one",
    "openshell: refused: token-files-lost: server/token and server/cred/passwd are gone",
    "Node token is available at /var/lib/rancher/k3s/server/token",
    'tokencleaner.go:187] "Starting token cleaner controller"',
    "https://127.0.0.1:6443/api/v1/nodes?x=a@b",
    "kube-system/coredns-757699759b-dfz4d: Running, 1 ready",
    "/var/lib/kubelet/pods/52b9e7b2-d776-44be-a4f5-d92d7cc39c11/volumes/kubernetes.io~projected",
]


@pytest.mark.parametrize("text", READABLE)
def test_what_an_engineer_needs_stays(text):
    assert Mask(frozenset({"0123456789abcdef"})).text(text) == text


@given(st.text(st.sampled_from(string.ascii_lowercase + string.digits), min_size=16, max_size=64))
def test_a_blind_mask_takes_whatever_could_be_a_secret(secret):
    mixed = f"a1{secret}"
    assert mixed not in Mask(is_blind=True).text(f"node says {mixed} here")
    assert Mask(is_blind=True).text("node says nothing here") == "node says nothing here"


@given(st.text(max_size=300))
def test_any_text_can_be_masked(text):
    mask = Mask(frozenset({"s3cretvalue"}), is_blind=True)
    assert "s3cretvalue" not in mask.text(f"{text} s3cretvalue {text}")


def test_a_tree_is_masked_by_its_keys_and_in_its_texts():
    mask = Mask(frozenset({"s3cretvalue"}))
    found = {
        "environment": {"DB_PASSWORD": "x", "EMPTY_TOKEN": "", "PLAIN": "has s3cretvalue"},
        "list": ["s3cretvalue", 3, None, True],
        "s3cretvalue": {"deep": {"token": {"kept": "1"}}},
    }
    assert mask.tree(found) == {
        "environment": {"DB_PASSWORD": MASK, "EMPTY_TOKEN": "", "PLAIN": f"has {MASK}"},
        "list": [MASK, 3, None, True],
        MASK: {"deep": {"token": {"kept": "1"}}},
    }


@pytest.mark.parametrize(
    ("token", "parts"),
    [
        ("K10ab::server:pw", ("K10ab::server:pw", "server:pw", "pw")),
        ("server:pw", ("server:pw", "server:pw", "pw")),
        ("pw", ("pw", "pw", "pw")),
    ],
)
def test_every_part_of_a_token_is_a_secret(token, parts):
    assert tuple(parts_of_token(token)) == parts


def test_what_is_too_short_is_no_secret():
    assert secrets_of(["", " a ", "abc", " abcd\n"]) == {"abcd"}


@pytest.mark.parametrize(
    "key",
    ["TOKEN", "dbPassword", "PGPASSWORD", "DB_PASS", "SSH_KEY", "ipsec_psk", "apiKey", "auth"],
)
def test_keys_that_name_secrets(key):
    assert is_secret_key(key)


@pytest.mark.parametrize("key", ["PATH", "HTTP_PROXY", "author", "monkey", "OPENSHELL_NODE_NAME"])
def test_keys_that_do_not(key):
    assert not is_secret_key(key)
