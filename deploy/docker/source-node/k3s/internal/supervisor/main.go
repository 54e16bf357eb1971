package supervisor

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/sirupsen/logrus"
	"openshell.ai/source-node/k3s/internal/options"
)

// uncleanStop makes TERM end the supervisor at once, as in k3s 1.33.4 and 1.33.5.
const uncleanStop = "OPENSHELL_SOURCE_NODE_UNCLEAN_STOP"

// Main is `k3s server` as a program: as the first process of a container it becomes an init whose
// child is the server, else it is the server.
func Main(given *options.Server) error {
	logrus.SetOutput(os.Stderr)
	logrus.SetFormatter(&logrus.TextFormatter{DisableColors: true, FullTimestamp: true})
	if os.Getpid() == 1 {
		return runInit()
	}
	if err := Run(signalled(), given); err != nil {
		logrus.Fatal(err)
	}
	return nil
}

// signalled returns a context that the first TERM or INT ends. A second one ends the process.
func signalled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	go func() {
		received := <-signals
		if os.Getenv(uncleanStop) != "" {
			os.Exit(1)
		}
		logrus.Infof("Shutdown request received: %s", received)
		cancel()
		<-signals
		logrus.Error("Second shutdown signal received")
		os.Exit(1)
	}()
	return ctx
}
