// Package images brings image archives into containerd before the kubelet starts.
package images

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/sirupsen/logrus"
	"openshell.ai/source-node/k3s/internal/layout"
)

// suffixes are the archive formats that containerd's importer reads; it finds out the compression
// by itself. k3s takes bzip2 and lz4 too, which this node names as unsupported.
var suffixes = []string{".tar", ".tar.gz", ".tgz", ".tar.zst", ".tzst"}

// stamp tells whether an archive is the one that was imported before.
type stamp struct {
	Size     int64 `json:"size"`
	Modified int64 `json:"modified"`
}

// ImportBundled imports the archives that come with the node image, each once per containerd store.
func ImportBundled(at layout.Layout) error {
	return importFolder(layout.BundledImages, filepath.Join(at.Containerd(), ".bundled-images.json"), true)
}

// ImportUser imports the archives of agent/images: all of them at each start, or only changed ones
// once its file .cache.json exists.
func ImportUser(at layout.Layout) error {
	return importFolder(at.Images(), filepath.Join(at.Images(), ".cache.json"), false)
}

// importFolder imports the folder's archives. One that cannot be imported is logged and does not
// hold up the others. The cache is kept only if it exists or must be made.
func importFolder(folder, cacheFile string, makeCache bool) error {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	known, cached := readCache(cacheFile)
	cached = cached || makeCache
	seen := map[string]stamp{}
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || entry.IsDir() || !isArchive(entry.Name()) {
			continue
		}
		now := stamp{Size: info.Size(), Modified: info.ModTime().UnixNano()}
		if cached && known[entry.Name()] == now {
			seen[entry.Name()] = now
			continue
		}
		path := filepath.Join(folder, entry.Name())
		if err := importArchive(path); err != nil {
			logrus.Errorf("Error encountered while importing %s: %v", path, err)
			continue
		}
		logrus.Infof("Imported images from %s", path)
		seen[entry.Name()] = now
	}
	if !cached {
		return nil
	}
	return writeCache(cacheFile, seen)
}

func isArchive(name string) bool {
	for _, suffix := range suffixes {
		if strings.HasSuffix(name, suffix) {
			return !strings.HasPrefix(name, ".")
		}
	}
	return false
}

func readCache(path string) (map[string]stamp, bool) {
	known := map[string]stamp{}
	content, err := os.ReadFile(path)
	if err != nil {
		return known, false
	}
	// A file that was only touched, or was cut off, knows nothing: everything is imported again.
	_ = json.Unmarshal(content, &known)
	return known, true
}

func writeCache(path string, seen map[string]stamp) error {
	content, err := json.Marshal(seen)
	if err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o600)
}

// Ctr returns containerd's own client for the node's socket and the kubelet's namespace.
func Ctr(args ...string) *exec.Cmd {
	command := exec.Command(filepath.Join(layout.Libexec, "ctr"), args...)
	command.Env = CtrEnvironment()
	return command
}

// CtrEnvironment returns the environment that makes ctr talk to the node's containerd.
func CtrEnvironment() []string {
	return append(os.Environ(),
		"CONTAINERD_ADDRESS="+layout.ContainerdSocket, "CONTAINERD_NAMESPACE=k8s.io")
}

// importArchive imports one archive and pins its images, so that the kubelet never collects them.
func importArchive(path string) error {
	command := Ctr("images", "import", "--label=io.cri-containerd.pinned=pinned", path)
	output, err := command.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, lastLine(string(output)))
	}
	return nil
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// Answers reports whether containerd answers on its socket.
func Answers() bool { return Ctr("version").Run() == nil }
