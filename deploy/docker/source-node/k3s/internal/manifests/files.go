package manifests

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// list returns the manifest files below the folder, in the order of their paths. Dot files, other
// suffixes and every file X beside which X.skip lies are left out.
func list(folder string) ([]string, error) {
	var files []string
	skipped := map[string]bool{}
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		name := entry.Name()
		switch {
		case entry.IsDir():
		case strings.HasSuffix(name, ".skip"):
			skipped[strings.TrimSuffix(path, ".skip")] = true
		case !strings.HasPrefix(name, ".") && isManifest(name):
			files = append(files, path)
		}
		return nil
	})
	kept := files[:0]
	for _, path := range files {
		if !skipped[path] {
			kept = append(kept, path)
		}
	}
	return kept, err
}

func isManifest(name string) bool {
	switch filepath.Ext(name) {
	case ".yaml", ".yml", ".json":
		return true
	}
	return false
}

// baseName returns the name that k3s gives a file's Addon: up to the first dot.
func baseName(path string) string {
	name, _, _ := strings.Cut(filepath.Base(path), ".")
	return name
}

// decode returns the objects of a manifest; lists are taken apart.
func decode(content []byte) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096)
	for {
		var raw map[string]any
		err := decoder.Decode(&raw)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, err
		}
		if len(raw) == 0 {
			continue
		}
		object := &unstructured.Unstructured{Object: raw}
		if object.GetKind() == "" || object.GetAPIVersion() == "" {
			return nil, fmt.Errorf("object without kind or apiVersion")
		}
		if !object.IsList() {
			objects = append(objects, object)
			continue
		}
		if err := object.EachListItem(func(item runtimeObject) error {
			objects = append(objects, item.(*unstructured.Unstructured))
			return nil
		}); err != nil {
			return nil, err
		}
	}
}

// changed reads the file if it changed since it was applied, given when each was changed last.
func changed(path string, applied map[string]time.Time) ([]byte, time.Time, bool, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, time.Time{}, false, err
	}
	if before, known := applied[path]; known && before.Equal(info.ModTime()) {
		return nil, before, false, nil
	}
	content, err := os.ReadFile(path)
	return content, info.ModTime(), err == nil, err
}
