package sandbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"
)

// serve answers on the address until the context ends; an empty address or "0" is none.
func serve(ctx context.Context, address string, handler http.Handler) {
	if address == "" || address == "0" {
		return
	}
	server := &http.Server{Addr: address, Handler: handler, ReadHeaderTimeout: 5 * time.Second}
	go func() {
		<-ctx.Done()
		_ = server.Close()
	}()
	go func() {
		if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
			slog.Error("cannot listen", "address", address, "error", err)
		}
	}()
}

// probes answers /healthz, and /readyz once everything was seen.
func probes(c *Controller) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "ok") })
	mux.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !c.IsSynced() {
			http.Error(w, "not everything was seen yet", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprint(w, "ok")
	})
	return mux
}

func metrics(c *Controller) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/metrics", func(w http.ResponseWriter, _ *http.Request) {
		passes, failures := c.Counts()
		fmt.Fprintf(w, "# TYPE sandbox_reconcile_total counter\nsandbox_reconcile_total %d\n"+
			"# TYPE sandbox_reconcile_errors_total counter\nsandbox_reconcile_errors_total %d\n",
			passes, failures)
	})
	return mux
}
