package glue

import (
	"bytes"
	"net/url"
	"strings"
)

// service13 is one GlueService: here those that tell about queues. GLUE 1.3
// ties a service to a site; to a computing element only where a foreign key
// says so, or by standing on its host.
type service13 struct {
	e        Endpoint
	ces      []string // GlueCEUniqueID
	clusters []string // GlueClusterUniqueID
}

var service13Attrs = setters[service13]{
	"glueserviceuniqueid":       func(d *Decoder, s *service13, v []byte) { s.e.ID = d.pool.str(v) },
	"glueservicetype":           func(d *Decoder, s *service13, v []byte) { s.e.Interface = d.pool.str(v) },
	"glueserviceversion":        func(d *Decoder, s *service13, v []byte) { s.e.Versions = append(s.e.Versions, d.pool.str(v)) },
	"glueserviceendpoint":       func(d *Decoder, s *service13, v []byte) { s.e.URL = d.pool.str(v) },
	"glueserviceaccesspointurl": func(d *Decoder, s *service13, v []byte) { s.setOldURL(d.pool.str(v)) },
	"glueservicestatus":         func(d *Decoder, s *service13, v []byte) { s.e.Health = d.pool.str(bytes.ToLower(v)) },
	"glueforeignkey": func(d *Decoder, s *service13, v []byte) {
		if id := foreignKey(v, "glueceuniqueid"); id != nil {
			s.ces = append(s.ces, d.pool.str(id))
		}
		if id := foreignKey(v, "glueclusteruniqueid"); id != nil {
			s.clusters = append(s.clusters, d.pool.str(id))
		}
	},
}

// setOldURL takes the name that GLUE 1.2 had for the endpoint.
func (s *service13) setOldURL(u string) {
	if s.e.URL == "" {
		s.e.URL = u
	}
}

// servicesOfOurs are the service types that a Decoder keeps.
var servicesOfOurs = []string{InterfaceQueues, InterfaceEcho, InterfaceForecast}

// serviceFilter asks for them alone: a grid publishes thousands of services.
func serviceFilter() string {
	var b strings.Builder
	for _, name := range servicesOfOurs {
		b.WriteString("(GlueServiceType=" + name + ")")
	}
	return "(|" + b.String() + ")"
}

func (g *glue13) addService(site string, e *Entry) {
	var s service13
	apply(g.d, service13Attrs, &s, e, nil)
	for _, name := range servicesOfOurs {
		if !strings.EqualFold(s.e.Interface, name) || s.e.URL == "" {
			continue
		}
		s.e.Interface = name
		for _, k := range s.about() {
			g.services[key{site, k}] = append(g.services[key{site, k}], s.e)
		}
	}
}

// about names what the service tells about: computing elements, clusters, or
// its host.
func (s *service13) about() []string {
	var keys []string
	for _, id := range s.ces {
		keys = append(keys, "ce "+id)
	}
	for _, id := range s.clusters {
		keys = append(keys, "cluster "+id)
	}
	if u, err := url.Parse(s.e.URL); err == nil && len(keys) == 0 && u.Hostname() != "" {
		keys = append(keys, "host "+strings.ToLower(u.Hostname()))
	}
	return keys
}

// servicesOf lists the services that tell about a queue, the closest first.
func (g *glue13) servicesOf(c *ce13) []Endpoint {
	var found []Endpoint
	for _, k := range []string{"ce " + c.key.id, "cluster " + c.cluster, "host " + c.r.CE} {
		found = append(found, g.services[key{c.key.site, k}]...)
	}
	return found
}
