package identity

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"openshell.ai/source-node/k3s/internal/layout"
)

func TestShortToken(t *testing.T) {
	for token, want := range map[string]string{
		"plain":                     "plain",
		"K10abc::server:secret":     "secret",
		"K10abc::server:with:colon": "with:colon",
		"K10 not a full one":        "K10 not a full one",
	} {
		if got := ShortToken(token); got != want {
			t.Errorf("%q: got %q, want %q", token, got, want)
		}
	}
}

func TestTokenFilesKeepTheToken(t *testing.T) {
	at := layout.Layout{Data: t.TempDir()}
	if err := os.MkdirAll(at.Cred(), 0o700); err != nil {
		t.Fatal(err)
	}
	if kept, err := KeptToken(at); kept != "" || err != nil {
		t.Fatalf("an empty folder has a token: %q %v", kept, err)
	}
	for range 2 { // a second start writes over the first one's files
		if err := WriteToken(at, []byte("authority"), "secret"); err != nil {
			t.Fatal(err)
		}
	}
	full, err := os.ReadFile(filepath.Join(at.Server(), "node-token"))
	if err != nil || !strings.HasPrefix(string(full), "K10") || !strings.HasSuffix(string(full), "::server:secret\n") {
		t.Fatalf("node-token: %q %v", full, err)
	}
	if err := os.Remove(at.Token()); err != nil {
		t.Fatal(err)
	}
	if kept, err := KeptToken(at); kept != "secret" || err != nil {
		t.Errorf("the password file was not read: %q %v", kept, err)
	}
}

func TestNodeName(t *testing.T) {
	if name, err := NodeName("OpenShell-T1", false); name != "openshell-t1" || err != nil {
		t.Errorf("%q %v", name, err)
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	if name, err := NodeName("", false); name != strings.ToLower(host) || err != nil {
		t.Errorf("%q %v", name, err)
	}
}

func TestKeptWritesOnlyOnceThroughALink(t *testing.T) {
	folder, link := t.TempDir(), filepath.Join(t.TempDir(), "node")
	if err := os.Symlink(folder, link); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(link, "password")
	first, err := kept(path, func() string { return "one" })
	if err != nil {
		t.Fatal(err)
	}
	second, err := kept(path, func() string { return "two" })
	if err != nil || first != "one" || second != "one" {
		t.Errorf("%q %q %v", first, second, err)
	}
	if _, err := os.Stat(filepath.Join(folder, "password")); err != nil {
		t.Error("the link was replaced by a folder")
	}
}
