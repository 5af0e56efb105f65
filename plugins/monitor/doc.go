// Package monitor asks monitoring systems which resources are not well,
// whatever they publish about themselves: Nagios and Icinga (status.dat, or the
// JSON CGI), Ganglia (the XML of gmetad) and Prometheus (instant queries).
// Complaints are about hosts; a resource is meant when its computing element is
// the host.
package monitor
