package main

import (
	"fmt"
	"strings"
	"time"
)

// writeGlue2 writes a site as a top BDII shows it in GLUE 2.0.
func writeGlue2(l *ldif, s *site) {
	base := "GLUE2DomainID=" + s.name + ",GLUE2GroupID=grid,o=glue"
	l.entry(base, "GLUE2Entity GLUE2Domain GLUE2AdminDomain", l.entity(s.name, l.now), attrs{
		"GLUE2DomainID", s.name, "GLUE2DomainDescription", "A site in " + s.country + ", København, 東京", "GLUE2AdminDomainDistributed", "FALSE",
		"GLUE2EntityOtherInfo", []string{"GRID=EGI", "EGI_NGI=" + s.ngi}})
	group := "GLUE2GroupID=resource," + base
	l.entry(group, "GLUE2Group", attrs{"GLUE2GroupID", "resource"})
	for _, c := range s.ces {
		newService2(l, c, group).write()
	}
}

// service2 is a computing element on its way into GLUE 2.0, with the
// identifiers its kind uses.
type service2 struct {
	*ldif
	c                                *ce
	made                             time.Time
	id, dn                           string
	manager, managerDN               string
	environment, endpoint, endpointN string
}

func newService2(l *ldif, c *ce, group string) *service2 {
	s := &service2{ldif: l, c: c, made: c.made(l.now)}
	if c.style == "ARC" {
		s.id = "urn:ogf:ComputingService:" + c.host + ":arex"
		s.manager = "urn:ogf:ComputingManager:" + c.host + ":" + c.lrms
		s.environment = "urn:ogf:ExecutionEnvironment:" + c.host + ":execenv0"
		s.endpoint, s.endpointN = "urn:ogf:ComputingEndpoint:"+c.host+":rest:"+c.url(), "org.nordugrid.arcrest"
	} else {
		s.id = c.host + "_ComputingElement"
		s.manager, s.environment = s.id+"_Manager", c.host
		s.endpointN = map[string]string{"CREAM": "org.glite.ce.CREAM", "HTCondorCE": "org.opensciencegrid.htcondorce"}[c.style]
		s.endpoint = c.host + "_" + s.endpointN
	}
	s.dn = "GLUE2ServiceID=" + escape(s.id) + "," + group
	s.managerDN = "GLUE2ManagerID=" + escape(s.manager) + "," + s.dn
	return s
}

func (s *service2) write() {
	kind := map[string]string{"ARC": "org.nordugrid.arex", "CREAM": "org.glite.ce.CREAM", "HTCondorCE": "org.opensciencegrid.htcondorce"}[s.c.style]
	s.entry(s.dn, "GLUE2Entity GLUE2Service GLUE2ComputingService", s.entity(s.c.site.name, s.made), attrs{
		"GLUE2ServiceID", s.id, "GLUE2ServiceType", kind, "GLUE2ServiceCapability", []string{"executionmanagement.jobexecution"},
		"GLUE2ServiceQualityLevel", "production", "GLUE2ServiceAdminDomainForeignKey", s.c.site.name})
	s.writeManager()
	s.writeTags()
	s.writeEndpoint()
	for _, q := range s.c.queues {
		if s.c.style == "ARC" { // one share for all
			s.writeShare(q, "urn:ogf:ComputingShare:"+s.c.host+":"+q.name, q.vos, 1)
			continue
		}
		for _, vo := range q.vos { // one share for each
			s.writeShare(q, q.name+"_"+vo+"_"+s.id, []string{vo}, 1/float64(len(q.vos)))
		}
	}
}

func (s *service2) writeManager() {
	c := s.c
	s.entry(s.managerDN, "GLUE2Entity GLUE2Manager GLUE2ComputingManager", s.entity(s.manager, s.made), attrs{
		"GLUE2ManagerID", s.manager, "GLUE2ManagerProductName", c.lrms, "GLUE2ManagerProductVersion", c.lrmsVer,
		"GLUE2ManagerServiceForeignKey", s.id, "GLUE2ComputingManagerComputingServiceForeignKey", s.id,
		"GLUE2ComputingManagerTotalLogicalCPUs", c.nodes * c.cores, "GLUE2ComputingManagerTotalSlots", c.nodes * c.cores})
	dn := "GLUE2ResourceID=" + escape(s.environment) + "," + s.managerDN
	s.entry(dn, "GLUE2Entity GLUE2Resource GLUE2ExecutionEnvironment", s.entity(c.host, s.made), attrs{
		"GLUE2ResourceID", s.environment, "GLUE2ResourceManagerForeignKey", s.manager,
		"GLUE2ExecutionEnvironmentComputingManagerForeignKey", s.manager, "GLUE2ExecutionEnvironmentPlatform", "amd64",
		"GLUE2ExecutionEnvironmentTotalInstances", c.nodes, "GLUE2ExecutionEnvironmentLogicalCPUs", c.cores,
		"GLUE2ExecutionEnvironmentPhysicalCPUs", 2, "GLUE2ExecutionEnvironmentCPUVendor", c.cpuVendor,
		"GLUE2ExecutionEnvironmentCPUModel", c.cpuModel, "GLUE2ExecutionEnvironmentCPUClockSpeed", c.mhz,
		"GLUE2ExecutionEnvironmentMainMemorySize", c.ram, "GLUE2ExecutionEnvironmentVirtualMemorySize", c.ram + 8000,
		"GLUE2ExecutionEnvironmentOSFamily", "linux", "GLUE2ExecutionEnvironmentOSName", strings.ToLower(c.os),
		"GLUE2ExecutionEnvironmentOSVersion", c.osRelease,
		"GLUE2ExecutionEnvironmentConnectivityIn", "FALSE", "GLUE2ExecutionEnvironmentConnectivityOut", "TRUE"})
	s.entry("GLUE2BenchmarkID="+escape(s.environment)+"_hs06,"+dn, "GLUE2Entity GLUE2Benchmark", s.entity(c.host, s.made), attrs{
		"GLUE2BenchmarkID", s.environment + "_hs06", "GLUE2BenchmarkType", "hep-spec06", "GLUE2BenchmarkValue", c.hs06,
		"GLUE2BenchmarkExecutionEnvironmentForeignKey", s.environment, "GLUE2BenchmarkComputingManagerForeignKey", s.manager})
}

func (s *service2) writeTags() {
	for _, tag := range s.c.tags {
		id := tag + "_" + s.c.host
		version := ""
		if i := strings.LastIndexByte(tag, '-'); i >= 0 && i+1 < len(tag) && tag[i+1] >= '0' && tag[i+1] <= '9' {
			version = tag[i+1:]
		}
		s.entry("GLUE2ApplicationEnvironmentID="+escape(id)+","+s.managerDN, "GLUE2Entity GLUE2ApplicationEnvironment", s.entity(tag, s.made), attrs{
			"GLUE2ApplicationEnvironmentID", id, "GLUE2ApplicationEnvironmentAppName", tag, "GLUE2ApplicationEnvironmentAppVersion", version,
			"GLUE2ApplicationEnvironmentDescription", tag, "GLUE2ApplicationEnvironmentComputingManagerForeignKey", s.manager})
	}
}

func (s *service2) writeEndpoint() {
	c := s.c
	_, impl, version := c.implementation()
	health, serving := "ok", "production"
	if c.off {
		health, serving = "critical", "closed"
	}
	dn := "GLUE2EndpointID=" + escape(s.endpoint) + "," + s.dn
	s.entry(dn, "GLUE2Entity GLUE2Endpoint GLUE2ComputingEndpoint", s.entity(c.host, s.made), attrs{
		"GLUE2EndpointID", s.endpoint, "GLUE2EndpointURL", c.url(), "GLUE2EndpointInterfaceName", s.endpointN,
		"GLUE2EndpointInterfaceVersion", "1.1", "GLUE2EndpointCapability", []string{"executionmanagement.jobexecution", "executionmanagement.jobdescription"},
		"GLUE2EndpointQualityLevel", "production", "GLUE2EndpointImplementationName", impl, "GLUE2EndpointImplementationVersion", version,
		"GLUE2EndpointHealthState", health, "GLUE2EndpointServingState", serving,
		"GLUE2EndpointServiceForeignKey", s.id, "GLUE2ComputingEndpointComputingServiceForeignKey", s.id})
	var rules []string
	for _, vo := range c.vos {
		rules = append(rules, c.scheme()+":"+vo)
	}
	s.entry("GLUE2PolicyID="+escape(s.endpoint)+"_policy,"+dn, "GLUE2Entity GLUE2Policy GLUE2AccessPolicy", s.entity(c.host, s.made), attrs{
		"GLUE2PolicyID", s.endpoint + "_policy", "GLUE2PolicyScheme", "org.glite.standard", "GLUE2PolicyRule", rules,
		"GLUE2AccessPolicyEndpointForeignKey", s.endpoint})
}

func (s *service2) writeShare(q *queue, id string, vos []string, part float64) {
	c, st := s.c, q.state(part)
	dn := "GLUE2ShareID=" + escape(id) + "," + s.dn
	var other []string
	if c.style == "CREAM" {
		other = []string{"CREAMCEId=" + q.id()}
	}
	s.entry(dn, "GLUE2Entity GLUE2Share GLUE2ComputingShare", s.entity(id, s.made), attrs{
		"GLUE2EntityOtherInfo", other, "GLUE2ShareID", id, "GLUE2ShareDescription", fmt.Sprintf("Share of %s", q.name),
		"GLUE2ShareServiceForeignKey", s.id, "GLUE2ComputingShareComputingServiceForeignKey", s.id,
		"GLUE2ShareResourceForeignKey", s.environment, "GLUE2ComputingShareExecutionEnvironmentForeignKey", s.environment,
		"GLUE2ComputingShareComputingEndpointForeignKey", s.endpoint,
		"GLUE2ComputingShareMappingQueue", q.name, "GLUE2ComputingShareServingState", q.serving,
		"GLUE2ComputingShareMaxWallTime", q.seconds(), "GLUE2ComputingShareMaxRunningJobs", q.slots,
		"GLUE2ComputingShareMaxTotalJobs", 999999999, "GLUE2ComputingShareMaxSlotsPerJob", c.cores,
		"GLUE2ComputingShareMaxMainMemory", c.ram / c.cores, "GLUE2ComputingShareMaxVirtualMemory", 2 * c.ram / c.cores,
		"GLUE2ComputingShareRunningJobs", st.run, "GLUE2ComputingShareWaitingJobs", st.wait, "GLUE2ComputingShareTotalJobs", st.run + st.wait,
		"GLUE2ComputingShareFreeSlots", st.free, "GLUE2ComputingShareUsedSlots", st.run,
		"GLUE2ComputingShareEstimatedAverageWaitingTime", st.response, "GLUE2ComputingShareEstimatedWorstWaitingTime", st.worst})
	var rules []string
	for _, vo := range vos {
		rules = append(rules, c.scheme()+":"+vo)
	}
	s.entry("GLUE2PolicyID="+escape(id)+"_policy,"+dn, "GLUE2Entity GLUE2Policy GLUE2MappingPolicy", s.entity(id, s.made), attrs{
		"GLUE2PolicyID", id + "_policy", "GLUE2PolicyScheme", "org.glite.standard", "GLUE2PolicyRule", rules,
		"GLUE2PolicyUserDomainForeignKey", vos, "GLUE2MappingPolicyShareForeignKey", id})
}

// seconds is the wall time limit as GLUE 2.0 says it; placeholders are not
// converted, because providers do not.
func (q *queue) seconds() int64 {
	switch {
	case !q.limitKnown:
		return q.wall
	case q.wall2 != 0:
		return q.wall2 * 60
	}
	return q.wall * 60
}
