package supervisor

import (
	"context"
	"fmt"
	"time"

	"github.com/sirupsen/logrus"
	"go.uber.org/zap"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"openshell.ai/source-node/k3s/internal/images"
)

const (
	apiTimeout     = 3 * time.Minute
	runtimeTimeout = time.Minute
)

// quiet is a logger for the datastore client, whose retries before kine listens are expected.
func quiet() *zap.Logger { return zap.NewNop() }

// await polls until the check passes, a component ends, the context does or the time is up. The
// last finding is in the error.
func (s *Supervisor) await(ctx context.Context, what string, timeout time.Duration, check func() error) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for {
		err := check()
		if err == nil {
			return nil
		}
		select {
		case dead := <-s.died:
			return ended(dead)
		case <-ctx.Done():
			if context.Cause(ctx) == context.DeadlineExceeded {
				return fmt.Errorf("%s did not answer within %s: %w", what, timeout, err)
			}
			return ctx.Err()
		case <-time.After(pollInterval):
		}
	}
}

// awaitAPI waits until the API server says that it is ready, and keeps clients for it.
func (s *Supervisor) awaitAPI(ctx context.Context) error {
	config, err := clientcmd.BuildConfigFromFlags("", s.settings.KubeconfigPath("admin"))
	if err != nil {
		return err
	}
	config.QPS, config.Burst = 100, 200
	s.config = config
	if s.client, err = kubernetes.NewForConfig(config); err != nil {
		return err
	}
	if err := s.await(ctx, "the API server", apiTimeout, func() error {
		return s.client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
	}); err != nil {
		return err
	}
	logrus.Info("Kube API server is now running")
	return nil
}

// prepareRuntime waits for containerd to answer and imports the images, so that the kubelet finds
// them.
func (s *Supervisor) prepareRuntime(ctx context.Context) error {
	deadline := time.Now().Add(runtimeTimeout)
	for !images.Answers() {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("containerd did not answer within %s", runtimeTimeout)
		}
		time.Sleep(pollInterval)
	}
	logrus.Info("containerd is now running")
	if err := images.ImportBundled(s.at); err != nil {
		return err
	}
	return images.ImportUser(s.at)
}
