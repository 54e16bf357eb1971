package supervisor

import (
	"context"
	"sync"
	"syscall"
	"time"

	"github.com/sirupsen/logrus"
	"openshell.ai/source-node/k3s/internal/process"
)

const (
	// componentGrace is how long components may take to end after TERM; k3s cuts them off after 5 s.
	componentGrace = 3 * time.Second
	// datastoreGrace is how long kine may take to close SQLite, on top of its own 2 s for clients.
	datastoreGrace = 10 * time.Second
)

// stop ends the components: all that write first, the datastore after them, and containerd the hard
// way, as k3s ends it, so that its shims and the pods stay as they are.
func (s *Supervisor) stop() {
	var writers []*process.Process
	var kine, containerd *process.Process
	for _, component := range s.running {
		switch component.Name {
		case "kine":
			kine = component
		case "containerd":
			containerd = component
		default:
			writers = append(writers, component)
		}
	}
	stopAll(writers)
	if kine != nil {
		ctx, cancel := context.WithTimeout(context.Background(), datastoreGrace)
		defer cancel()
		if !kine.Stop(ctx) {
			logrus.Warnf("kine did not close the datastore within %s", datastoreGrace)
		}
	}
	if containerd != nil {
		containerd.Signal(syscall.SIGKILL)
		<-containerd.Done()
	}
}

func stopAll(running []*process.Process) {
	ctx, cancel := context.WithTimeout(context.Background(), componentGrace)
	defer cancel()
	var ended sync.WaitGroup
	for _, component := range running {
		ended.Go(func() {
			if !component.Stop(ctx) {
				logrus.Infof("%s was cut off after %s", component.Name, componentGrace)
			}
		})
	}
	ended.Wait()
}
