// Package bootstrap keeps the server's authorities and secrets in the datastore, encrypted with the
// token, as k3s does: a data folder that lost them gets them back, and a server that was given
// another token is refused.
package bootstrap

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// file is one kept file: its bytes and when it was written, in whole seconds.
type file struct {
	Content  []byte `json:"content"`
	Modified int64  `json:"modified"`
}

// contents maps a path below the server folder to its file.
type contents map[string]file

const (
	keyPrefix  = "/bootstrap/"
	saltBytes  = 16
	keyBytes   = 32
	iterations = 4096
)

// storageKey returns the datastore key under which the token's data lies. It does not reveal the
// token.
func storageKey(token string) string {
	digest := sha256.Sum256([]byte(token))
	return keyPrefix + hex.EncodeToString(digest[:])[:12]
}

// keptPaths are the files that make a server's identity, relative to the server folder.
var keptPaths = []string{
	"cred/passwd",
	"tls/client-ca.crt", "tls/client-ca.key",
	"tls/server-ca.crt", "tls/server-ca.key",
	"tls/request-header-ca.crt", "tls/request-header-ca.key",
	"tls/service.key",
}

// read collects the kept files that exist below the server folder.
func read(server string) (contents, error) {
	out := contents{}
	for _, path := range keptPaths {
		full := filepath.Join(server, path)
		raw, err := os.ReadFile(full)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		info, err := os.Stat(full)
		if err != nil {
			return nil, err
		}
		out[path] = file{Content: raw, Modified: info.ModTime().Unix()}
	}
	return out, nil
}

// write puts the named files in place with the modes and times they had.
func write(server string, kept contents, paths []string) error {
	for _, path := range paths {
		full := filepath.Join(server, path)
		if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(full, kept[path].Content, 0o600); err != nil {
			return err
		}
		when := time.Unix(kept[path].Modified, 0)
		if err := os.Chtimes(full, when, when); err != nil {
			return err
		}
	}
	return nil
}

func sealer(token string, salt []byte) (cipher.AEAD, error) {
	key, err := pbkdf2.Key(sha256.New, token, salt, iterations, keyBytes)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// encrypt seals the files with the token.
func encrypt(token string, kept contents) ([]byte, error) {
	plain, err := json.Marshal(kept)
	if err != nil {
		return nil, err
	}
	salt := make([]byte, saltBytes)
	_, _ = rand.Read(salt) // never fails: crypto/rand ends the program instead
	aead, err := sealer(token, salt)
	if err != nil {
		return nil, err
	}
	nonce := make([]byte, aead.NonceSize())
	_, _ = rand.Read(nonce)
	return aead.Seal(append(salt, nonce...), nonce, plain, nil), nil
}

// decrypt opens what encrypt sealed.
func decrypt(token string, sealed []byte) (contents, error) {
	if len(sealed) < saltBytes {
		return nil, errors.New("bootstrap data is too short")
	}
	aead, err := sealer(token, sealed[:saltBytes])
	if err != nil {
		return nil, err
	}
	rest := sealed[saltBytes:]
	if len(rest) < aead.NonceSize() {
		return nil, errors.New("bootstrap data is too short")
	}
	plain, err := aead.Open(nil, rest[:aead.NonceSize()], rest[aead.NonceSize():], nil)
	if err != nil {
		return nil, fmt.Errorf("failed to decrypt bootstrap data: %w", err)
	}
	var kept contents
	return kept, json.Unmarshal(plain, &kept)
}
