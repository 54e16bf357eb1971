package sandbox

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Options is the controller's command line. It takes every flag of upstream's, so that one
// Deployment runs either image; those that change nothing here are only accepted.
type Options struct {
	Profile                 Profile
	Kubeconfig, Domain      string
	Probes, Metrics         string
	Workers, Burst          int
	QPS                     float64
	Delay, Down, WatchLife  time.Duration
	leaderElect, extensions bool
}

// Parse reads the command line. The error is flag.ErrHelp where only help was asked for.
func Parse(args []string, out io.Writer) (Options, error) {
	var options Options
	var profile string
	flags := flag.NewFlagSet("agent-sandbox-controller", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.StringVar(&profile, "profile", "P3", "which releases to behave as: P1, P2 or P3")
	flags.StringVar(&options.Kubeconfig, "kubeconfig", "", "file to reach the cluster with, instead of the pod's account")
	flags.StringVar(&options.Domain, "cluster-domain", "cluster.local", "the cluster's domain")
	flags.StringVar(&options.Probes, "health-probe-bind-address", ":8081", "where /healthz and /readyz are")
	flags.StringVar(&options.Metrics, "metrics-bind-address", ":8080", "where /metrics is; 0 is nowhere")
	flags.IntVar(&options.Workers, "sandbox-concurrent-workers", 100, "sandboxes reconciled at the same time")
	flags.Float64Var(&options.QPS, "kube-api-qps", -1, "calls of the API a second; -1 is any number")
	flags.IntVar(&options.Burst, "kube-api-burst", 10, "calls of the API at once")
	flags.DurationVar(&options.Delay, "test-delay", 0, "for tests: what passes before each write")
	flags.DurationVar(&options.Down, "test-down", 0, "for tests: do nothing so long after the start")
	flags.DurationVar(&options.WatchLife, "test-watch-life", 0, "for tests: end each watch after that time")
	acceptOnly(flags, &options)
	if err := flags.Parse(args); err != nil {
		return options, err
	}
	if flags.NArg() > 0 {
		return options, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	var err error
	options.Profile, err = ProfileOf(profile)
	return options, err
}

// acceptOnly takes upstream's flags for what this controller does not have: one writer needs no
// election, and one version of the resource no conversion.
func acceptOnly(flags *flag.FlagSet, options *Options) {
	const nothing = "accepted, without effect"
	flags.BoolVar(&options.leaderElect, "leader-elect", true, nothing)
	flags.BoolVar(&options.extensions, "extensions", false, nothing)
	for _, name := range []string{
		"cache-label-selectors", "enable-tracing", "manage-webhook-certs", "enable-webhook", "zap-devel",
		"enable-pprof",
	} {
		flags.Bool(name, false, nothing)
	}
	for _, name := range []string{
		"leader-election-namespace", "webhook-port", "webhook-cert-dir", "sandbox-write-behind-window",
		"sandbox-claim-concurrent-workers", "sandbox-warm-pool-concurrent-workers", "zap-log-level",
		"zap-encoder",
	} {
		flags.String(name, "", nothing)
	}
}

// Run runs the controller until the context ends.
func Run(ctx context.Context, options Options) error {
	config, err := clientConfig(options)
	if err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	controller := &Controller{
		Workers: options.Workers, WatchLife: options.WatchLife,
		Reconciler: Reconciler{
			Profile: options.Profile, Client: client, Domain: options.Domain, Now: time.Now,
			Delay: options.Delay,
		},
	}
	serve(ctx, options.Probes, probes(controller))
	serve(ctx, options.Metrics, metrics(controller))
	select {
	case <-ctx.Done():
		return nil
	case <-time.After(options.Down):
	}
	slog.Info("starting", "profile", options.Profile.Name, "version", options.Profile.Version)
	return controller.Run(ctx)
}

func clientConfig(options Options) (*rest.Config, error) {
	config, err := rest.InClusterConfig()
	if options.Kubeconfig != "" {
		config, err = clientcmd.BuildConfigFromFlags("", options.Kubeconfig)
	}
	if err != nil {
		return nil, err
	}
	config.UserAgent = writer
	config.QPS, config.Burst = float32(options.QPS), options.Burst
	return config, nil
}
