package manifests

import (
	"context"
	"errors"
	"time"

	"github.com/sirupsen/logrus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

type runtimeObject = runtime.Object

const (
	// interval is how often the folder is walked. k3s takes 15 s.
	interval = 5 * time.Second
	// ownerAnnotation names the file that an object came from, as k3s's apply does.
	ownerAnnotation = "objectset.rio.cattle.io/owner-name"
)

// Controller applies the manifests of a folder.
type Controller struct {
	folder  string
	manager string
	client  dynamic.Interface
	mapper  *restmapper.DeferredDiscoveryRESTMapper
	applied map[string]seen
}

// NewController returns a controller whose first pass applies every file, whatever was applied
// before.
func NewController(config *rest.Config, folder, nodeName string) (*Controller, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	found, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	return &Controller{
		folder: folder, manager: "deploy@" + nodeName, client: client,
		mapper:  restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(found)),
		applied: map[string]seen{},
	}, nil
}

// Run removes the objects of disabled bundled manifests, then walks the folder until the context
// ends.
func (c *Controller) Run(ctx context.Context, disabled map[string]bool, variables Variables) {
	for _, name := range Bundled() {
		if disabled[name] {
			c.removeObjects(ctx, name, render(name, variables))
		}
	}
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		c.pass(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// pass applies what is new or changed. A file that fails is logged, does not hold up the others,
// and is tried again at the next pass.
func (c *Controller) pass(ctx context.Context) {
	files, err := list(c.folder)
	if err != nil {
		logrus.Errorf("Failed to walk %s: %v", c.folder, err)
	}
	for _, path := range files {
		content, now, must, err := changed(path, c.applied)
		if err == nil && must {
			err = c.applyFile(ctx, path, content)
		}
		if err != nil {
			logrus.Errorf("Failed to process config: failed to process %s: %v", path, err)
			continue
		}
		c.applied[path] = now
	}
}

func (c *Controller) applyFile(ctx context.Context, path string, content []byte) error {
	objects, err := decode(content)
	if err != nil {
		return err
	}
	var failures []error
	for _, object := range objects {
		setAnnotation(object, ownerAnnotation, baseName(path))
		failures = append(failures, c.apply(ctx, object))
	}
	if err := errors.Join(failures...); err != nil {
		return err
	}
	logrus.Infof("Applied manifest %s", path)
	return nil
}

func setAnnotation(object *unstructured.Unstructured, key, value string) {
	annotations := object.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[key] = value
	object.SetAnnotations(annotations)
}

func (c *Controller) apply(ctx context.Context, object *unstructured.Unstructured) error {
	resource, err := c.resource(object)
	if err != nil {
		return err
	}
	_, err = resource.Apply(ctx, object.GetName(), object,
		metav1.ApplyOptions{FieldManager: c.manager, Force: true})
	return err
}

// resource finds the API of the object. A kind that is not known may just have been defined, so
// discovery is repeated once.
func (c *Controller) resource(object *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	kind := object.GroupVersionKind()
	mapping, err := c.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if meta.IsNoMatchError(err) {
		c.mapper.Reset()
		mapping, err = c.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	}
	if err != nil {
		return nil, err
	}
	if mapping.Scope.Name() != meta.RESTScopeNameNamespace {
		return c.client.Resource(mapping.Resource), nil
	}
	if object.GetNamespace() == "" {
		object.SetNamespace(metav1.NamespaceDefault)
	}
	return c.client.Resource(mapping.Resource).Namespace(object.GetNamespace()), nil
}

// removeObjects deletes those objects of a disabled manifest that came from it.
func (c *Controller) removeObjects(ctx context.Context, name string, content []byte) {
	objects, err := decode(content)
	if err != nil {
		logrus.Errorf("Failed to read disabled manifest %s: %v", name, err)
		return
	}
	for _, object := range objects {
		if err := c.remove(ctx, object, name); err != nil {
			logrus.Errorf("Failed to remove %s %s: %v", object.GetKind(), object.GetName(), err)
		}
	}
}

func (c *Controller) remove(ctx context.Context, object *unstructured.Unstructured, owner string) error {
	resource, err := c.resource(object)
	if err != nil {
		return err
	}
	found, err := resource.Get(ctx, object.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if found.GetAnnotations()[ownerAnnotation] != owner {
		return nil
	}
	uid := found.GetUID()
	return resource.Delete(ctx, object.GetName(),
		metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
}
