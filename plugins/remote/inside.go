package remote

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"gridbroker/environment"
	"gridbroker/glue"
	"gridbroker/plugins"
)

// Nodes is where our program for environments lies on the nodes of a site, its
// settings, and the read-ahead cache that they reach.
type Nodes struct{ launcher, settings, cache string }

// The names of a URL's query that say where.
const (
	optionLauncher = "launcher"
	optionNode     = "node"
	optionCache    = "cache"
)

// Take takes what a URL's query says of the nodes (launcher=, node=, cache=) out of it.
func (n *Nodes) Take(q url.Values) error {
	*n = Nodes{launcher: "grid-launch", settings: environment.DefaultNode, cache: q.Get(optionCache)}
	q.Del(optionCache)
	if err := CheckCache(n.cache); err != nil {
		return err
	}
	for name, to := range map[string]*string{optionLauncher: &n.launcher, optionNode: &n.settings} {
		list := q[name]
		if len(list) == 0 {
			continue
		}
		*to = list[len(list)-1]
		if !Plain(*to) || !strings.HasPrefix(*to, "/") {
			return fmt.Errorf("%s=%s: want an absolute path of letters, digits and _-./", name, *to)
		}
		q.Del(name)
	}
	return nil
}

// vres is the tag of a site that deploys environments when jobs ask for them, and the name of its job manager in
// GlueCEUniqueID.
const vres = "vres"

// Deploys tells whether a site says so: by a feature of Slurm, or an attribute HasVRES of HTCondor.
func Deploys(tags []string) bool {
	return slices.ContainsFunc(tags, func(t string) bool {
		return strings.EqualFold(t, vres) || strings.EqualFold(t, "Has"+vres)
	})
}

// ManagerID is the GlueCEUniqueID of a share whose jobs run in environments.
func ManagerID(host, queue string) string { return host + "/jobmanager-" + vres + "-" + queue }

// inside is how the job finds its environment on the node; nothing where it asks for none.
func (n Nodes) inside(req plugins.Request) []string {
	var tags []string
	for _, tag := range req.Job.Demand.RuntimeEnvironments {
		if !strings.HasSuffix(tag, environment.CachedSuffix) {
			tags = append(tags, quote(published(req.Resource, tag)))
		}
	}
	if len(tags) == 0 {
		return nil
	}
	must := ""
	image := req.Job.UserImage()
	if image != "" || req.Resource != nil && Deploys(req.Resource.RuntimeEnvironments) || slices.ContainsFunc(req.Job.Demand.RuntimeEnvironments, environment.IsVirtual) {
		must = "yes"
	}
	return []string{"launcher=" + quote(n.launcher), "node=" + quote(n.settings), "must=" + must, "image=" + quote(image),
		"enter " + strings.Join(tags, " ")}
}

// published is a tag as its site writes it: batch systems tell capital letters from small ones.
func published(r *glue.Resource, tag string) string {
	if r == nil {
		return tag
	}
	if i := slices.IndexFunc(r.RuntimeEnvironments, func(t string) bool { return strings.EqualFold(t, tag) }); i >= 0 {
		return r.RuntimeEnvironments[i]
	}
	return tag
}
