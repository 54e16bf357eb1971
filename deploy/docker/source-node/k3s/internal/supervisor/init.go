package supervisor

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/sirupsen/logrus"
	"openshell.ai/source-node/k3s/internal/cgroups"
)

// runInit is the first process of a container: it leaves the root cgroup, runs this program again
// as its child, passes signals on, reaps every orphan, and ends as the child ends.
func runInit() error {
	if err := cgroups.Evacuate("/sys/fs/cgroup"); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	child := exec.Command(self, os.Args[1:]...)
	child.Args[0] = "k3s"
	child.Stdout, child.Stderr = os.Stdout, os.Stderr
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	if err := child.Start(); err != nil {
		return err
	}
	go func() {
		for received := range signals {
			_ = child.Process.Signal(received)
		}
	}()
	os.Exit(reap(child.Process.Pid))
	return nil
}

// reap waits for every child that ends until the given one has, and returns its exit status.
func reap(server int) int {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			logrus.Errorf("Failed to wait for children: %v", err)
			return 1
		case pid == server && status.Signaled():
			return 128 + int(status.Signal())
		case pid == server:
			return status.ExitStatus()
		}
	}
}
