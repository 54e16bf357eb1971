package pki

import (
	"crypto/x509"
	"net"
	"path/filepath"
	"testing"
)

func TestAuthorityIsKept(t *testing.T) {
	base := filepath.Join(t.TempDir(), "ca")
	first, err := EnsureAuthority(base, "k3s-server-ca")
	if err != nil {
		t.Fatal(err)
	}
	second, err := EnsureAuthority(base, "k3s-server-ca")
	if err != nil || !first.Certificate.Equal(second.Certificate) {
		t.Errorf("made anew: %v", err)
	}
}

func TestLeafFollowsWhatIsAskedOfIt(t *testing.T) {
	folder := t.TempDir()
	authority, err := EnsureAuthority(filepath.Join(folder, "ca"), "a")
	if err != nil {
		t.Fatal(err)
	}
	other, err := EnsureAuthority(filepath.Join(folder, "other"), "b")
	if err != nil {
		t.Fatal(err)
	}
	request := func(address string, names ...string) Request {
		return Request{CommonName: "api", Names: names, Addresses: []net.IP{net.ParseIP(address)},
			Usage: x509.ExtKeyUsageServerAuth}
	}
	base := filepath.Join(folder, "leaf")
	last, err := EnsureLeaf(base, authority, request("10.0.0.1", "localhost"))
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		name    string
		by      *Pair
		request Request
		kept    bool
	}{
		{"the same", authority, request("10.0.0.1", "localhost"), true},
		{"fewer names", authority, request("10.0.0.1"), true},
		{"another address", authority, request("10.0.0.2", "localhost"), false},
		{"one name more", authority, request("10.0.0.2", "localhost", "more"), false},
		{"another authority", other, request("10.0.0.2", "localhost", "more"), false},
	} {
		now, err := EnsureLeaf(base, step.by, step.request)
		if err != nil {
			t.Fatal(err)
		}
		if kept := now.Certificate.Equal(last.Certificate); kept != step.kept {
			t.Errorf("%s: kept is %v", step.name, kept)
		}
		if now.Certificate.VerifyHostname(step.request.Addresses[0].String()) != nil {
			t.Errorf("%s: not good for the address", step.name)
		}
		last = now
	}
}
