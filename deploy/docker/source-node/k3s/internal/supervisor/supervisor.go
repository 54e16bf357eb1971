// Package supervisor starts the node's components in order, waits for each to answer, and ends them
// in order. It is what `k3s server` runs.
package supervisor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/sirupsen/logrus"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"openshell.ai/source-node/k3s/internal/components"
	"openshell.ai/source-node/k3s/internal/layout"
	"openshell.ai/source-node/k3s/internal/manifests"
	"openshell.ai/source-node/k3s/internal/options"
	"openshell.ai/source-node/k3s/internal/process"
	"openshell.ai/source-node/k3s/internal/version"
)

// Supervisor is one run of `k3s server`.
type Supervisor struct {
	settings components.Settings
	at       layout.Layout
	password string
	config   *rest.Config
	client   kubernetes.Interface
	// died receives the first component that ends by itself.
	died chan *process.Process
	// running holds the components in the order of their start.
	running []*process.Process
}

// Run is `k3s server` until the context ends or a component does. Stopped by the context it returns
// nil, after everything has ended but the pods and their shims.
func Run(ctx context.Context, given *options.Server) error {
	logrus.Infof("Starting k3s %s", version.Version())
	s := &Supervisor{at: layout.Layout{Data: given.DataDir}, died: make(chan *process.Process, 16)}
	err := s.start(ctx, given)
	if err == nil {
		err = s.wait(ctx)
	}
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		err = nil
	}
	s.stop()
	return err
}

func (s *Supervisor) wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case dead := <-s.died:
		return ended(dead)
	}
}

// ended repeats the last lines of a component that has ended by itself, below its name, so that the
// cause is at the end of the node's log, and returns the finding.
func ended(dead *process.Process) error {
	err := dead.Ended()
	logrus.Errorf("%v; its last lines:", err)
	for _, line := range dead.LastLines() {
		fmt.Fprintf(os.Stderr, "  %s| %s\n", dead.Name, line)
	}
	return err
}

// start brings the components up, the ones that do not need each other at the same time.
func (s *Supervisor) start(ctx context.Context, given *options.Server) error {
	if err := s.prepare(given); err != nil {
		return err
	}
	if err := s.startDatastore(ctx); err != nil {
		return fmt.Errorf("starting kubernetes: preparing server: %w", err)
	}
	if err := s.writeConfiguration(); err != nil {
		return err
	}
	runtimeReady := make(chan error, 1)
	if err := s.launch(s.settings.Containerd(), s.containerdLog()); err != nil {
		return err
	}
	if err := s.launch(s.settings.APIServer(), os.Stderr); err != nil {
		return err
	}
	go func() { runtimeReady <- s.prepareRuntime(ctx) }()
	if err := s.awaitAPI(ctx); err != nil {
		return err
	}
	if err := s.startControllers(ctx); err != nil {
		return err
	}
	if err := s.orDeath(ctx, runtimeReady); err != nil {
		return err
	}
	return s.startAgents(ctx)
}

// startControllers starts what needs the API only.
func (s *Supervisor) startControllers(ctx context.Context) error {
	for _, command := range []components.Command{s.settings.ControllerManager(), s.settings.Scheduler()} {
		if err := s.launch(command, os.Stderr); err != nil {
			return err
		}
	}
	if err := s.writeAdminKubeconfig(); err != nil {
		return err
	}
	logrus.Info("k3s is up and running")
	deploy, err := manifests.NewController(s.config, s.at.Manifests(), s.settings.NodeName)
	if err != nil {
		return err
	}
	go deploy.Run(ctx, s.disabled(), s.variables())
	return nil
}

// launch starts a component and watches for its end.
func (s *Supervisor) launch(command components.Command, log *os.File) error {
	started, err := process.Start(process.Spec{
		Name: command.Name, Path: command.Path, Args: command.Args, Dir: command.Dir,
		Env: os.Environ(), Log: log,
	})
	if err != nil {
		return err
	}
	logrus.Infof("Running %s (pid %d)", command.Name, started.Pid())
	s.running = append(s.running, started)
	go func() {
		<-started.Done()
		s.died <- started
	}()
	return nil
}

// orDeath waits for a result, a component's end, or the context's.
func (s *Supervisor) orDeath(ctx context.Context, result <-chan error) error {
	select {
	case err := <-result:
		return err
	case dead := <-s.died:
		return ended(dead)
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *Supervisor) disabled() map[string]bool {
	out := map[string]bool{}
	for _, name := range s.settings.Options.Disable {
		out[name] = true
	}
	return out
}

func (s *Supervisor) variables() manifests.Variables {
	storage := s.settings.Options.DefaultStoragePath
	if storage == "" {
		storage = s.at.Storage()
	}
	return manifests.Variables{
		"CLUSTER_DNS":                s.settings.ClusterDNS.String(),
		"CLUSTER_DOMAIN":             s.settings.Options.ClusterDomain,
		"DEFAULT_LOCAL_STORAGE_PATH": storage,
	}
}

// shareMounts makes mounts of pods visible to the node and the other way round.
func shareMounts() error {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_SHARED, ""); err != nil {
		return fmt.Errorf("failed to make / shared: %w", err)
	}
	return nil
}
