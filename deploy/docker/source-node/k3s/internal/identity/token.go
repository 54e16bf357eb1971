// Package identity keeps what makes the server and its node recognisable over restarts: the token,
// the node's name and the node's password. It talks to no cluster.
package identity

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"openshell.ai/source-node/k3s/internal/layout"
)

const tokenPrefix = "K10"

// ShortToken returns the password part of a token in either form.
func ShortToken(token string) string {
	if !strings.HasPrefix(token, tokenPrefix) {
		return token
	}
	if _, credentials, found := strings.Cut(token, "::"); found {
		if _, password, found := strings.Cut(credentials, ":"); found {
			return password
		}
	}
	return token
}

// FullToken returns the form that carries the hash of the server's authority.
func FullToken(authorityPEM []byte, password string) string {
	digest := sha256.Sum256(authorityPEM)
	return tokenPrefix + hex.EncodeToString(digest[:]) + "::server:" + password
}

// KeptToken returns the short token that the data folder holds: of the token file if it is there,
// else of the password file, else "".
func KeptToken(at layout.Layout) (string, error) {
	content, err := os.ReadFile(at.Token())
	if err == nil {
		return ShortToken(strings.TrimSpace(string(content))), nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	content, err = os.ReadFile(at.Passwd())
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	password, _, _ := strings.Cut(string(content), ",")
	return password, err
}

// NewToken returns a fresh short token.
func NewToken() string { return randomHex(16) }

// WriteToken writes the token's files: the password file, the token and its two links.
func WriteToken(at layout.Layout, authorityPEM []byte, password string) error {
	passwd := fmt.Sprintf("%[1]s,node,node,k3s:agent\n%[1]s,server,server,k3s:server\n", password)
	if err := os.WriteFile(at.Passwd(), []byte(passwd), 0o600); err != nil {
		return err
	}
	full := FullToken(authorityPEM, password) + "\n"
	if err := os.WriteFile(at.Token(), []byte(full), 0o600); err != nil {
		return err
	}
	for _, name := range []string{"node-token", "agent-token"} {
		link := filepath.Join(at.Server(), name)
		if err := os.Remove(link); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := os.Symlink(at.Token(), link); err != nil {
			return err
		}
	}
	return nil
}

func randomHex(bytes int) string {
	raw := make([]byte, bytes)
	_, _ = rand.Read(raw) // never fails: crypto/rand ends the program instead
	return hex.EncodeToString(raw)
}
