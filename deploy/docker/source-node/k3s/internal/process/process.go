// Package process runs the node's components as children that cannot outlive the supervisor.
// What the components are is not known here.
package process

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// keptLines is how much of a component's log is repeated when it has ended.
const keptLines = 12

// Spec says what to run. Log receives standard output and error.
type Spec struct {
	Name string
	Path string
	Args []string
	Dir  string
	Env  []string
	Log  io.Writer
}

// Process is a running component.
type Process struct {
	Name string
	cmd  *exec.Cmd
	tail *tail
	done chan struct{}
	err  error
}

// Start runs the component. The kernel sends it SIGKILL when the supervisor ends, however that
// happens. The kernel ties that signal to the thread that forked, so the thread is kept until the
// child has ended.
func Start(spec Spec) (*Process, error) {
	p := &Process{Name: spec.Name, tail: &tail{to: spec.Log, keep: keptLines}, done: make(chan struct{})}
	p.cmd = exec.Command(spec.Path, spec.Args...)
	p.cmd.Args[0] = spec.Name
	p.cmd.Dir, p.cmd.Env = spec.Dir, spec.Env
	p.cmd.Stdout, p.cmd.Stderr = p.tail, p.tail
	// A component's own children (containerd's shims) may hold its output open and outlive it.
	p.cmd.WaitDelay = time.Second
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			p.err = p.cmd.Wait()
			close(p.done)
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("failed to start %s: %w", spec.Name, err)
	}
	return p, nil
}

// Pid returns the component's process id.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Done is closed when the component has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Ended describes the end of a component that has ended.
func (p *Process) Ended() error {
	if p.err == nil {
		return fmt.Errorf("%s exited: exit status 0", p.Name)
	}
	return fmt.Errorf("%s exited: %w", p.Name, p.err)
}

// LastLines returns the end of the component's log.
func (p *Process) LastLines() []string { return p.tail.last() }

// Signal sends a signal; a component that has ended is left alone.
func (p *Process) Signal(signal syscall.Signal) {
	select {
	case <-p.done:
	default:
		_ = p.cmd.Process.Signal(signal)
	}
}

// Stop sends TERM and waits until the component has ended or the context has; then it sends KILL
// and waits for that. It reports whether TERM was enough.
func (p *Process) Stop(ctx context.Context) bool {
	p.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
		return true
	case <-ctx.Done():
		p.Signal(syscall.SIGKILL)
		<-p.done
		return false
	}
}
