package main

import (
	"fmt"
)

var version13 = attrs{"GlueSchemaVersionMajor", 1, "GlueSchemaVersionMinor", 3}

// writeGlue1 writes a site as a top BDII shows it in GLUE 1.3.
func writeGlue1(l *ldif, s *site) {
	base := "Mds-Vo-name=" + s.name + ",Mds-Vo-name=local,o=grid"
	l.entry(base, "MDS", attrs{"Mds-Vo-name", s.name})
	siteKey := "GlueSiteUniqueID=" + s.name
	l.entry(siteKey+","+base, "GlueTop GlueSite GlueKey GlueSchemaVersion", attrs{
		"GlueSiteUniqueID", s.name, "GlueSiteName", s.name, "GlueSiteDescription", "A site in " + s.country,
		"GlueSiteLocation", s.country, "GlueSiteOtherInfo", []string{"GRID=EGI", "EGI_NGI=" + s.ngi}, "GlueForeignKey", siteKey}, version13)
	for _, se := range s.ses {
		l.entry("GlueSEUniqueID="+se+","+base, "GlueSETop GlueSE GlueKey GlueSchemaVersion", attrs{
			"GlueSEUniqueID", se, "GlueSEName", s.name + ":dCache", "GlueSEStatus", "Production", "GlueForeignKey", siteKey}, version13)
	}
	for _, c := range s.ces {
		writeCluster(l, c, base)
		for _, q := range c.queues {
			writeCE(l, q, base)
		}
	}
}

func writeCluster(l *ldif, c *ce, base string) {
	key := "GlueClusterUniqueID=" + c.host
	var ids, foreign []string
	for _, q := range c.queues {
		ids = append(ids, q.id())
		foreign = append(foreign, "GlueCEUniqueID="+q.id())
	}
	if !c.dangling {
		l.entry(key+","+base, "GlueClusterTop GlueCluster GlueKey GlueSchemaVersion", attrs{
			"GlueClusterUniqueID", c.host, "GlueClusterName", c.host, "GlueClusterService", ids,
			"GlueForeignKey", append([]string{"GlueSiteUniqueID=" + c.site.name}, foreign...)}, version13)
	}
	if c.noSubCluster || c.dangling {
		return
	}
	l.entry("GlueSubClusterUniqueID="+c.host+","+key+","+base, "GlueClusterTop GlueSubCluster GlueHostApplicationSoftware GlueHostArchitecture"+
		" GlueHostBenchmark GlueHostMainMemory GlueHostNetworkAdapter GlueHostOperatingSystem GlueHostProcessor GlueKey GlueSchemaVersion", attrs{
		"GlueSubClusterUniqueID", c.host, "GlueSubClusterName", c.host,
		"GlueHostApplicationSoftwareRunTimeEnvironment", c.tags,
		"GlueHostArchitectureSMPSize", c.cores, "GlueHostArchitecturePlatformType", "x86_64",
		"GlueHostBenchmarkSI00", int64(c.hs06 * 250), "GlueHostBenchmarkSF00", 0,
		"GlueHostMainMemoryRAMSize", c.ram, "GlueHostMainMemoryVirtualSize", c.ram + 8000,
		"GlueHostNetworkAdapterInboundIP", "FALSE", "GlueHostNetworkAdapterOutboundIP", "TRUE",
		"GlueHostOperatingSystemName", c.os, "GlueHostOperatingSystemRelease", c.osRelease, "GlueHostOperatingSystemVersion", c.osName,
		"GlueHostProcessorClockSpeed", c.mhz, "GlueHostProcessorModel", c.cpuModel, "GlueHostProcessorVendor", c.cpuVendor,
		"GlueHostProcessorOtherDescription", fmt.Sprintf("Cores=%d,Benchmark=%g-HEP-SPEC06", c.cores, c.hs06),
		"GlueSubClusterPhysicalCPUs", 2 * c.nodes, "GlueSubClusterLogicalCPUs", c.cores * c.nodes,
		"GlueChunkKey", key}, version13)
}

func writeCE(l *ldif, q *queue, base string) {
	c := q.ce
	impl, _, version := c.implementation()
	dn := "GlueCEUniqueID=" + escape(q.id()) + "," + base
	contact := c.url()
	if c.style == "HTCondorCE" {
		contact = fmt.Sprintf("condor %s %s:%d", c.host, c.host, c.port)
	}
	l.entry(dn, "GlueCETop GlueCE GlueCEAccessControlBase GlueCEInfo GlueCEPolicy GlueCEState GlueInformationService GlueKey GlueSchemaVersion", attrs{
		"GlueCEUniqueID", q.id(), "GlueCEName", q.name, "GlueCEHostingCluster", c.host,
		"GlueCEImplementationName", impl, "GlueCEImplementationVersion", version,
		"GlueCECapability", []string{fmt.Sprintf("CPUScalingReferenceSI00=%d", int64(c.hs06*250))},
		"GlueCEInfoHostName", c.host, "GlueCEInfoGatekeeperPort", c.port, "GlueCEInfoContactString", contact,
		"GlueCEInfoLRMSType", c.lrms, "GlueCEInfoLRMSVersion", c.lrmsVer, "GlueCEInfoJobManager", c.lrms,
		"GlueCEInfoTotalCPUs", c.nodes * c.cores, "GlueCEInfoApplicationDir", "/opt/exp_software", "GlueCEInfoDataDir", "unset",
		"GlueCEStateStatus", capital(q.serving)},
		q.state(1).glue1(), attrs{
			"GlueCEPolicyMaxWallClockTime", q.wall, "GlueCEPolicyMaxObtainableWallClockTime", q.wall,
			"GlueCEPolicyMaxCPUTime", q.cpu, "GlueCEPolicyMaxObtainableCPUTime", q.cpu,
			"GlueCEPolicyMaxRunningJobs", q.slots, "GlueCEPolicyMaxTotalJobs", 999999999, "GlueCEPolicyMaxWaitingJobs", 999999999,
			"GlueCEPolicyMaxSlotsPerJob", c.cores, "GlueCEPolicyAssignedJobSlots", q.slots,
			"GlueCEPolicyPreemption", 0, "GlueCEPolicyPriority", 1,
			"GlueCEAccessControlBaseRule", q.rules("VO"), "GlueForeignKey", "GlueClusterUniqueID=" + c.host,
			"GlueInformationServiceURL", "ldap://" + c.host + ":2170/mds-vo-name=resource,o=grid"}, version13)
	if !q.noViews {
		for _, vo := range q.vos {
			writeView(l, q, vo, dn)
		}
	}
	writeBinds(l, q, base)
}

func writeView(l *ldif, q *queue, vo, dn string) {
	l.entry("GlueVOViewLocalID="+vo+","+dn, "GlueCETop GlueVOView GlueCEInfo GlueCEState GlueCEAccessControlBase GlueCEPolicy GlueKey GlueSchemaVersion",
		attrs{"GlueVOViewLocalID", vo}, q.state(1/float64(len(q.vos))).glue1(), attrs{
			"GlueCEInfoApplicationDir", "/opt/exp_software/" + vo, "GlueCEInfoDataDir", "unset",
			"GlueCEAccessControlBaseRule", "VO:" + vo, "GlueChunkKey", "GlueCEUniqueID=" + q.id()}, version13)
}

// writeBinds says which storage is near a queue.
func writeBinds(l *ldif, q *queue, base string) {
	if len(q.ce.site.ses) == 0 {
		return
	}
	dn := "GlueCESEBindGroupCEUniqueID=" + escape(q.id()) + "," + base
	l.entry(dn, "GlueGeneralTop GlueCESEBindGroup GlueSchemaVersion", attrs{
		"GlueCESEBindGroupCEUniqueID", q.id(), "GlueCESEBindGroupSEUniqueID", q.ce.site.ses}, version13)
	for _, se := range q.ce.site.ses {
		l.entry("GlueCESEBindSEUniqueID="+se+","+dn, "GlueGeneralTop GlueCESEBind GlueSchemaVersion", attrs{
			"GlueCESEBindSEUniqueID", se, "GlueCESEBindCEUniqueID", q.id(), "GlueCESEBindCEAccesspoint", "n.a",
			"GlueCESEBindMountInfo", "n.a", "GlueCESEBindWeight", 0}, version13)
	}
}

func (s state) glue1() attrs {
	return attrs{"GlueCEStateRunningJobs", s.run, "GlueCEStateWaitingJobs", s.wait, "GlueCEStateTotalJobs", s.total,
		"GlueCEStateEstimatedResponseTime", s.response, "GlueCEStateWorstResponseTime", s.worst,
		"GlueCEStateFreeJobSlots", s.free, "GlueCEStateFreeCPUs", s.freeCPUs}
}

// capital writes a serving state as GLUE 1.3 does.
func capital(s string) string { return string(s[0]-'a'+'A') + s[1:] }
