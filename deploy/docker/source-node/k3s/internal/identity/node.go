package identity

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"openshell.ai/source-node/k3s/internal/layout"
)

// NodeName returns the node's name: the one given, else the host's, in lower case. Whether the API
// takes it is left to the API, as k3s leaves it.
func NodeName(given string, withID bool) (string, error) {
	name := given
	if name == "" {
		host, err := os.Hostname()
		if err != nil {
			return "", err
		}
		name = host
	}
	name = strings.ToLower(name)
	if !withID {
		return name, nil
	}
	id, err := kept(filepath.Join(layout.NodeDir, "id"), func() string { return randomHex(4) })
	return name + "-" + id, err
}

// NodePassword returns the node's password, made now if there is none. The folder may be a link.
func NodePassword() (string, error) {
	return kept(filepath.Join(layout.NodeDir, "password"), func() string { return randomHex(16) })
}

// kept returns the content of a file that is written only if it does not exist.
func kept(path string, fresh func() string) (string, error) {
	content, err := os.ReadFile(path)
	if err == nil {
		return strings.TrimSpace(string(content)), nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	value := fresh()
	return value, os.WriteFile(path, []byte(value+"\n"), 0o600)
}
