package sandbox

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// Controller calls the reconciler for each sandbox that something happened to. Claims are not
// watched: what happens to them is seen at the next event or retry, as upstream does.
type Controller struct {
	Reconciler Reconciler
	// Workers is how many sandboxes are reconciled at the same time.
	Workers int
	// WatchLife ends each watch after that time, for tests; 0 is never.
	WatchLife time.Duration

	queue  workqueue.TypedRateLimitingInterface[cache.ObjectName]
	synced atomic.Bool
	passes atomic.Int64
	errors atomic.Int64
}

// IsSynced reports whether everything that existed at the start was seen.
func (c *Controller) IsSynced() bool { return c.synced.Load() }

// Counts returns how many passes were made, and how many of them failed.
func (c *Controller) Counts() (passes, failures int64) { return c.passes.Load(), c.errors.Load() }

// Run works until the context ends.
func (c *Controller) Run(ctx context.Context) error {
	c.queue = workqueue.NewTypedRateLimitingQueue(
		workqueue.DefaultTypedControllerRateLimiter[cache.ObjectName]())
	var group sync.WaitGroup
	defer group.Wait()
	defer c.queue.ShutDown()
	children := metav1.ListOptions{LabelSelector: hashLabel}
	var ready []cache.InformerSynced
	for _, source := range []struct {
		resource schema.GroupVersionResource
		options  metav1.ListOptions
		key      func(*unstructured.Unstructured) string
	}{
		{c.Reconciler.Profile.sandboxes(), metav1.ListOptions{}, (*unstructured.Unstructured).GetName},
		{pods, children, owner},
		{services, children, owner},
	} {
		informer, err := c.informer(source.resource, source.options, source.key)
		if err != nil {
			return err
		}
		group.Go(func() { informer.RunWithContext(ctx) })
		ready = append(ready, informer.HasSynced)
	}
	if !cache.WaitForCacheSync(ctx.Done(), ready...) {
		return nil // the context ended
	}
	c.synced.Store(true)
	slog.Info("watching", "profile", c.Reconciler.Profile.Name)
	for range max(c.Workers, 1) {
		group.Go(func() {
			for c.next(ctx) {
			}
		})
	}
	<-ctx.Done()
	return nil
}

func owner(object *unstructured.Unstructured) string { return sandboxOf(object) }

// informer watches a resource; each event puts the sandbox that `key` names into the queue.
func (c *Controller) informer(
	resource schema.GroupVersionResource, options metav1.ListOptions,
	key func(*unstructured.Unstructured) string,
) (cache.SharedIndexInformer, error) {
	informer := cache.NewSharedIndexInformer(
		c.listWatch(resource, options), &unstructured.Unstructured{}, 0, cache.Indexers{})
	if err := informer.SetTransform(metadataOnly); err != nil {
		return nil, err
	}
	enqueue := func(raw any) {
		if gone, is := raw.(cache.DeletedFinalStateUnknown); is {
			raw = gone.Obj
		}
		if object, is := raw.(*unstructured.Unstructured); is {
			if name := key(object); name != "" {
				c.queue.Add(cache.ObjectName{Namespace: object.GetNamespace(), Name: name})
			}
		}
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    enqueue,
		UpdateFunc: func(_, now any) { enqueue(now) },
		DeleteFunc: enqueue,
	})
	return informer, err
}

func (c *Controller) listWatch(
	resource schema.GroupVersionResource, selected metav1.ListOptions,
) cache.ListerWatcher {
	client := c.Reconciler.Client.Resource(resource)
	return cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.LabelSelector = selected.LabelSelector
			return client.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.LabelSelector = selected.LabelSelector
			opened, err := client.Watch(ctx, options)
			if err == nil && c.WatchLife > 0 {
				time.AfterFunc(c.WatchLife, opened.Stop)
			}
			return opened, err
		},
	}, c.Reconciler.Client)
}

// metadataOnly drops what only names a sandbox: each pass reads its objects afresh.
func metadataOnly(raw any) (any, error) {
	object, is := raw.(*unstructured.Unstructured)
	if !is {
		return raw, nil
	}
	kept := &unstructured.Unstructured{Object: map[string]any{}}
	kept.SetGroupVersionKind(object.GroupVersionKind())
	kept.SetName(object.GetName())
	kept.SetNamespace(object.GetNamespace())
	kept.SetUID(object.GetUID())
	kept.SetResourceVersion(object.GetResourceVersion())
	kept.SetOwnerReferences(object.GetOwnerReferences())
	return kept, nil
}

// next makes one pass; false once the queue is closed.
func (c *Controller) next(ctx context.Context) bool {
	key, closed := c.queue.Get()
	if closed {
		return false
	}
	defer c.queue.Done(key)
	after, err := c.reconcile(ctx, key)
	c.passes.Add(1)
	switch {
	case err != nil:
		c.errors.Add(1)
		if ctx.Err() == nil {
			slog.Error("a pass failed", "namespace", key.Namespace, "sandbox", key.Name, "error", err)
			c.queue.AddRateLimited(key)
		}
	case after > 0:
		c.queue.Forget(key)
		c.queue.AddAfter(key, after)
	default:
		c.queue.Forget(key)
	}
	return true
}

func (c *Controller) reconcile(ctx context.Context, key cache.ObjectName) (after time.Duration, err error) {
	defer func() {
		if failure := recover(); failure != nil {
			err = fmt.Errorf("panic: %v", failure)
		}
	}()
	return c.Reconciler.Reconcile(ctx, key.Namespace, key.Name)
}
