package process

import (
	"bytes"
	"io"
	"sync"
)

// tail passes everything on to a writer and remembers the last lines that went through.
type tail struct {
	mu      sync.Mutex
	to      io.Writer
	lines   []string
	partial []byte
	keep    int
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.partial = append(t.partial, p...)
	for {
		line, rest, found := bytes.Cut(t.partial, []byte{'\n'})
		if !found {
			break
		}
		t.lines = append(t.lines, string(line))
		t.partial = rest
	}
	if extra := len(t.lines) - t.keep; extra > 0 {
		t.lines = append([]string(nil), t.lines[extra:]...)
	}
	if _, err := t.to.Write(p); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (t *tail) last() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]string(nil), t.lines...)
}
