package bootstrap

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
)

// tolerated is how much newer, in seconds, a file on disk may be and still be overwritten.
const tolerated = 3

// plan compares the files on disk with those of the datastore. It returns the paths to write from
// the datastore, or an error that names those which are newer on disk.
func plan(disk, store contents) ([]string, error) {
	var restore, newer []string
	for path, kept := range store {
		present, exists := disk[path]
		switch {
		case exists && bytes.Equal(present.Content, kept.Content):
		case exists && present.Modified-kept.Modified >= tolerated:
			newer = append(newer, path)
		default:
			restore = append(restore, path)
		}
	}
	sort.Strings(restore)
	sort.Strings(newer)
	if len(newer) > 0 {
		return nil, fmt.Errorf("%s newer than datastore and could cause a cluster outage. "+
			"Remove the file(s) from disk and restart to be recreated from datastore.",
			strings.Join(newer, ", "))
	}
	return restore, nil
}

// isMissing reports whether a folder that carries the identity is absent or empty. k3s then takes
// everything from the datastore, without comparing.
func isMissing(server string) bool {
	for _, name := range []string{"cred", "tls"} {
		entries, err := os.ReadDir(filepath.Join(server, name))
		if err != nil || len(entries) == 0 {
			return true
		}
	}
	return false
}

// restore brings the disk in line with the datastore.
func restore(server string, store contents) error {
	disk := contents{}
	if !isMissing(server) {
		var err error
		if disk, err = read(server); err != nil {
			return err
		}
	}
	paths, err := plan(disk, store)
	if err != nil {
		return err
	}
	return write(server, store, paths)
}
