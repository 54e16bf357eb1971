package manifests

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sirupsen/logrus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
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
	// hashLabel is common to the objects of one file.
	hashLabel = "objectset.rio.cattle.io/hash"
)

// Controller applies the manifests of a folder.
type Controller struct {
	folder  string
	manager string
	client  dynamic.Interface
	mapper  meta.ResettableRESTMapper
	// applied is when each file was changed last, as of when it was applied.
	applied map[string]time.Time
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
		applied: map[string]time.Time{},
	}, nil
}

// Run removes the objects of disabled bundled manifests, then walks the folder until the context
// ends.
func (c *Controller) Run(ctx context.Context, disabled map[string]bool, variables Variables) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	isDefined := false
	for {
		if !isDefined {
			err := c.defineAddons(ctx)
			if isDefined = err == nil; isDefined {
				c.disable(ctx, disabled, variables)
			} else if ctx.Err() == nil {
				logrus.Errorf("Failed to define Addons: %v", err)
			}
		}
		if isDefined {
			c.pass(ctx)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (c *Controller) disable(ctx context.Context, disabled map[string]bool, variables Variables) {
	for _, name := range Bundled() {
		if disabled[name] {
			c.removeObjects(ctx, name, render(name, variables))
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
		content, modified, must, err := changed(path, c.applied)
		if err == nil && must {
			_, known := c.applied[path]
			err = c.applyFile(ctx, path, content, !known)
		}
		if err != nil {
			logrus.Errorf("Failed to process config: failed to process %s: %v", path, err)
			continue
		}
		c.applied[path] = modified
	}
}

// applyFile applies a file's objects and deletes those that left it. Unless `always`, a file of
// which the Addon has the checksum is left alone. Nothing is deleted where not all could be applied.
func (c *Controller) applyFile(ctx context.Context, path string, content []byte, always bool) error {
	addon, err := c.addonFor(ctx, path)
	if err != nil {
		return err
	}
	total := sha256.Sum256(content)
	checksum := hex.EncodeToString(total[:])
	if !always && checksumOf(addon) == checksum {
		return nil
	}
	objects, err := decode(content)
	if err != nil {
		c.event(ctx, addon, "Warning", "ParseManifestFailed", fmt.Sprintf("Parse manifest at %q failed: %v", path, err))
		return err
	}
	c.event(ctx, addon, "Normal", "ApplyingManifest", fmt.Sprintf("Applying manifest at %q", path))
	kinds, err := c.applyAll(ctx, addon, objects)
	if err == nil {
		err = c.record(ctx, addon, path, checksum, kinds)
	}
	if err != nil {
		c.event(ctx, addon, "Warning", "ApplyManifestFailed", fmt.Sprintf("Applying manifest at %q failed: %v", path, err))
		return err
	}
	c.event(ctx, addon, "Normal", "AppliedManifest", fmt.Sprintf("Applied manifest at %q", path))
	logrus.Infof("Applied manifest %s", path)
	return nil
}

// applyAll returns the kinds of the objects.
func (c *Controller) applyAll(
	ctx context.Context, addon *unstructured.Unstructured, objects []*unstructured.Unstructured,
) ([]schema.GroupVersionKind, error) {
	var failures []error
	var kinds []schema.GroupVersionKind
	for _, object := range objects {
		own(object, addon.GetName())
		if kind := object.GroupVersionKind(); !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
		failures = append(failures, c.apply(ctx, object))
	}
	if err := errors.Join(failures...); err != nil {
		return nil, err
	}
	// Kinds that nothing has any more are only in the Addon.
	all := recordedKinds(addon)
	for _, kind := range kinds {
		if !slices.Contains(all, kind) {
			all = append(all, kind)
		}
	}
	return kinds, c.prune(ctx, addon.GetName(), all, objects)
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

// mapping finds the API of a kind. A kind that is not known may just have been defined, so discovery
// is repeated once.
func (c *Controller) mapping(kind schema.GroupVersionKind) (*meta.RESTMapping, error) {
	mapping, err := c.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if meta.IsNoMatchError(err) {
		c.mapper.Reset()
		mapping, err = c.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	}
	return mapping, err
}

// resource finds the API of the object.
func (c *Controller) resource(object *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	mapping, err := c.mapping(object.GroupVersionKind())
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

// removeObjects deletes those objects of a disabled manifest that came from it, and its Addon first,
// so that it is not taken for one that is applied.
func (c *Controller) removeObjects(ctx context.Context, name string, content []byte) {
	objects, err := decode(content)
	if err != nil {
		logrus.Errorf("Failed to read disabled manifest %s: %v", name, err)
		return
	}
	addon, err := c.addons().Get(ctx, name, metav1.GetOptions{})
	if err == nil {
		c.event(ctx, addon, "Normal", "DeletingManifest", fmt.Sprintf("Deleting manifest %q", name))
		err = errors.Join(
			c.addons().Delete(ctx, name, metav1.DeleteOptions{}),
			c.prune(ctx, name, recordedKinds(addon), nil))
	}
	if err != nil && !apierrors.IsNotFound(err) {
		logrus.Errorf("Failed to remove Addon %s: %v", name, err)
	}
	for _, object := range objects {
		if err := c.remove(ctx, object, name); err != nil {
			logrus.Errorf("Failed to remove %s %s: %v", object.GetKind(), object.GetName(), err)
		}
	}
}

// remove deletes an object that came from the file of that name, and no other.
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
	background := metav1.DeletePropagationBackground
	err = resource.Delete(ctx, object.GetName(), metav1.DeleteOptions{
		PropagationPolicy: &background, Preconditions: &metav1.Preconditions{UID: &uid},
	})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
