// Command sandbox-controller runs Sandboxes (agents.x-k8s.io) where upstream's controller cannot be
// had.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"openshell.ai/source-node/k3s/internal/sandbox"
)

func main() {
	options, err := sandbox.Parse(os.Args[1:], os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "agent-sandbox-controller: %v\n", err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := sandbox.Run(ctx, options); err != nil {
		fmt.Fprintf(os.Stderr, "agent-sandbox-controller: %v\n", err)
		os.Exit(1)
	}
}
