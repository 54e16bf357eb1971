package supervisor

import (
	"context"
	"os"

	"github.com/sirupsen/logrus"
	"openshell.ai/source-node/k3s/internal/components"
	"openshell.ai/source-node/k3s/internal/node"
)

// passwordMode chooses how a node password that does not match is met. Unset is current k3s: the
// node joins and an event tells.
const passwordMode = "OPENSHELL_SOURCE_NODE_PASSWORD_MODE"

// startAgents starts what makes this machine a node.
func (s *Supervisor) startAgents(ctx context.Context) error {
	mode := os.Getenv(passwordMode)
	name := s.settings.NodeName
	if mode == "reject" {
		checked := make(chan error, 1)
		go func() { checked <- node.AwaitPassword(ctx, s.client, name, s.password) }()
		if err := s.orDeath(ctx, checked); err != nil {
			return err
		}
	}
	controller := node.Controller{Client: s.client, Name: name, Annotations: s.annotations()}
	go controller.Run(ctx)
	go func() {
		err := node.KeepPassword(ctx, s.client, name, s.password, mode == "false-alarm")
		if err != nil && ctx.Err() == nil {
			logrus.Errorf("Failed to check the node password: %v", err)
		}
	}()
	for _, command := range []components.Command{s.settings.Kubelet(), s.settings.Proxy()} {
		if err := s.launch(command, os.Stderr); err != nil {
			return err
		}
	}
	return nil
}

func (s *Supervisor) annotations() map[string]string {
	return node.Annotations(s.settings.NodeName, s.settings.NodeAddress, os.Args[1:], os.Environ())
}
