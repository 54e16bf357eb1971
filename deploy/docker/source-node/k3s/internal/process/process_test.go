package process

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

func shell(t *testing.T, script string, log *bytes.Buffer) *Process {
	t.Helper()
	started, err := Start(Spec{Name: "sh", Path: "/bin/sh", Args: []string{"-c", script}, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	return started
}

func TestAnEndIsToldWithTheLastLines(t *testing.T) {
	var log bytes.Buffer
	p := shell(t, "echo first; echo last >&2; exit 3", &log)
	<-p.Done()
	if err := p.Ended(); !strings.Contains(err.Error(), "sh exited: exit status 3") {
		t.Errorf("%v", err)
	}
	if lines := p.LastLines(); !slices.Equal(lines, []string{"first", "last"}) {
		t.Errorf("%v", lines)
	}
	if log.String() != "first\nlast\n" {
		t.Errorf("%q", log.String())
	}
}

func TestStopKillsWhatIgnoresTERM(t *testing.T) {
	for name, test := range map[string]struct {
		script string
		gentle bool
	}{
		"ends on TERM": {"echo up; exec sleep 60", true},
		"ignores TERM": {"trap '' TERM; echo up; sleep 60", false},
	} {
		t.Run(name, func(t *testing.T) {
			p := shell(t, test.script, &bytes.Buffer{})
			for len(p.LastLines()) == 0 {
				time.Sleep(time.Millisecond)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			if gentle := p.Stop(ctx); gentle != test.gentle {
				t.Errorf("gentle is %v", gentle)
			}
			p.Signal(syscall.SIGTERM) // of an ended one: nothing
		})
	}
}

func TestStartTellsWhatIsMissing(t *testing.T) {
	_, err := Start(Spec{Name: "absent", Path: "/does/not/exist", Log: &bytes.Buffer{}})
	if err == nil || !strings.Contains(err.Error(), "failed to start absent") {
		t.Errorf("%v", err)
	}
}

func TestTailKeepsTheEnd(t *testing.T) {
	tail := &tail{to: &bytes.Buffer{}, keep: 2}
	for _, part := range []string{"a\nb", "b\nc\nunfinished"} {
		if _, err := tail.Write([]byte(part)); err != nil {
			t.Fatal(err)
		}
	}
	if got := tail.last(); !slices.Equal(got, []string{"bb", "c"}) {
		t.Errorf("%v", got)
	}
}
