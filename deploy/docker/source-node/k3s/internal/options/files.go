package options

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"openshell.ai/source-node/k3s/internal/layout"
	"sigs.k8s.io/yaml"
)

// configFiles returns config.yaml and then the drop-ins in the order of their names.
func configFiles() []string {
	base := filepath.Join(layout.ConfigDir, "config.yaml")
	dropIns, _ := filepath.Glob(filepath.Join(base+".d", "*.yaml"))
	sort.Strings(dropIns)
	return append([]string{base}, dropIns...)
}

// configArgs turns the files into arguments. A later file replaces a key of an earlier one, `key+`
// appends to it, and a key that the command line gives is left out altogether.
func configArgs(files, args []string) ([]string, error) {
	values := map[string][]string{}
	for _, file := range files {
		if err := mergeFile(values, file); err != nil {
			return nil, err
		}
	}
	given := givenFlags(args)
	keys := make([]string, 0, len(values))
	for key := range values {
		if !given[key] {
			keys = append(keys, key)
		}
	}
	sort.Strings(keys)
	var out []string
	for _, key := range keys {
		for _, value := range values[key] {
			out = append(out, "--"+key+"="+value)
		}
	}
	return out, nil
}

func mergeFile(values map[string][]string, file string) error {
	content, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var parsed map[string]any
	if err := yaml.Unmarshal(content, &parsed); err != nil {
		return fmt.Errorf("failed to read %s: %w", file, err)
	}
	for key, value := range parsed {
		if name, appends := strings.CutSuffix(key, "+"); appends {
			values[name] = append(values[name], texts(value)...)
		} else {
			values[key] = texts(value)
		}
	}
	return nil
}

func texts(value any) []string {
	items, many := value.([]any)
	if !many {
		return []string{fmt.Sprint(value)}
	}
	out := make([]string, 0, len(items))
	for _, item := range items {
		out = append(out, fmt.Sprint(item))
	}
	return out
}

func givenFlags(args []string) map[string]bool {
	given := map[string]bool{}
	for _, arg := range args {
		if name := strings.TrimLeft(arg, "-"); name != arg {
			name, _, _ = strings.Cut(name, "=")
			given[name] = true
		}
	}
	return given
}
