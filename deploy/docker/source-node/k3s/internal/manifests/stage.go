// Package manifests puts the bundled manifests into the auto-deploy folder and applies every file
// that lies there, as k3s's deploy controller does: an Addon for each file, and what leaves a file is deleted.
package manifests

import (
	"embed"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

//go:embed bundled/*.yaml
var bundled embed.FS

// Variables are replaced in bundled manifests, as %{NAME}%.
type Variables map[string]string

// Bundled returns the names of the bundled files without their suffix.
func Bundled() []string {
	entries, _ := bundled.ReadDir("bundled") // embedded: cannot fail
	names := make([]string, 0, len(entries))
	for _, entry := range entries {
		names = append(names, strings.TrimSuffix(entry.Name(), ".yaml"))
	}
	return names
}

func render(name string, variables Variables) []byte {
	content, _ := bundled.ReadFile("bundled/" + name + ".yaml")
	text := string(content)
	for key, value := range variables {
		text = strings.ReplaceAll(text, "%{"+key+"}%", value)
	}
	return []byte(text)
}

// Stage rewrites the bundled files into the folder and removes those that are disabled.
func Stage(folder string, disabled map[string]bool, variables Variables) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	for _, name := range Bundled() {
		path := filepath.Join(folder, name+".yaml")
		if disabled[name] {
			if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			continue
		}
		if err := writePrivate(path, render(name, variables)); err != nil {
			return err
		}
	}
	return nil
}

// writePrivate writes the file with mode 0600, also where it exists with another mode.
func writePrivate(path string, content []byte) error {
	if err := os.WriteFile(path, content, 0o600); err != nil {
		return err
	}
	return os.Chmod(path, 0o600)
}
