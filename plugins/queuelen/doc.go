// Package queuelen asks services that publish the current lengths of all
// queues of an LRMS, and serves such lengths. Two protocols: the SOAP echo
// service of the published hybrid algorithm (Petrenko, Svistunov, Svirin 2012)
// and a JSON document.
package queuelen
