package glue

import (
	"cmp"
	"slices"
	"time"

	"gridbroker/jdl/classad"
)

// attribute is one name that Lookup answers.
type attribute struct {
	name string // as the schema spells it
	get  Getter
}

// attributeList is the table of names: GLUE Schema 1.3 and GFD.147 (LDAP
// rendering GFD-R-P.218). The pairs follow gLite's mapping of GLUE 2.0 onto
// the old names, with the units converted, which that mapping left out.
var attributeList = []attribute{
	{"GlueCEUniqueID", text(func(r *Resource) string { return cmp.Or(r.CEID, r.ID) })},
	{"GlueCEName", text(func(r *Resource) string { return r.Queue })},
	{"GlueCEHostingCluster", text(func(r *Resource) string { return r.ClusterName() })},
	{"GlueCEInfoHostName", text(func(r *Resource) string { return r.CE })},
	{"GlueCEInfoGatekeeperPort", gatekeeperPort},
	{"GlueCEInfoContactString", list(endpointURLs)},
	{"GlueCEInfoJobManager", text(func(r *Resource) string { return r.LRMS })},
	{"GlueCEInfoLRMSType", text(func(r *Resource) string { return r.LRMS })},
	{"GlueCEInfoLRMSVersion", text(func(r *Resource) string { return r.LRMSVersion })},
	{"GlueCEInfoTotalCPUs", number(func(r *Resource) Opt[int64] { return r.TotalSlots })},
	{"GlueCEInfoDefaultSE", text(defaultSE)},
	{"GlueCEImplementationName", text(func(r *Resource) string { return r.Implementation })},
	{"GlueCEImplementationVersion", text(func(r *Resource) string { return r.ImplVersion })},
	{"GlueCEAccessControlBaseRule", list(func(r *Resource) []string { return r.Access })},
	{"GlueCEStateStatus", text(status13)},
	{"GlueCEStateRunningJobs", number(func(r *Resource) Opt[int64] { return r.Running })},
	{"GlueCEStateWaitingJobs", number(func(r *Resource) Opt[int64] { return r.Waiting })},
	{"GlueCEStateTotalJobs", number(func(r *Resource) Opt[int64] { return r.Total })},
	{"GlueCEStateFreeJobSlots", number(func(r *Resource) Opt[int64] { return r.FreeSlots })},
	{"GlueCEStateFreeCPUs", number(func(r *Resource) Opt[int64] { return r.FreeSlots })},
	{"GlueCEStateEstimatedResponseTime", duration(time.Second, func(r *Resource) Opt[time.Duration] { return r.EstimatedWait })},
	{"GlueCEStateWorstResponseTime", duration(time.Second, func(r *Resource) Opt[time.Duration] { return r.WorstWait })},
	{"GlueCEPolicyMaxWallClockTime", atMost(LimitWallTime, duration(time.Minute, func(r *Resource) Opt[time.Duration] { return r.MaxWallTime }))},
	{"GlueCEPolicyMaxObtainableWallClockTime", atMost(LimitWallTime, duration(time.Minute, func(r *Resource) Opt[time.Duration] { return r.MaxWallTime }))},
	{"GlueCEPolicyMaxCPUTime", atMost(LimitCPUTime, duration(time.Minute, func(r *Resource) Opt[time.Duration] { return r.MaxCPUTime }))},
	{"GlueCEPolicyMaxObtainableCPUTime", atMost(LimitCPUTime, duration(time.Minute, func(r *Resource) Opt[time.Duration] { return r.MaxCPUTime }))},
	{"GlueCEPolicyMaxTotalJobs", atMost(LimitTotal, number(func(r *Resource) Opt[int64] { return r.MaxTotal }))},
	{"GlueCEPolicyMaxRunningJobs", atMost(LimitRunning, number(func(r *Resource) Opt[int64] { return r.MaxRunning }))},
	{"GlueCEPolicyMaxWaitingJobs", atMost(LimitWaiting, number(func(r *Resource) Opt[int64] { return r.MaxWaiting }))},
	{"GlueCEPolicyMaxSlotsPerJob", atMost(LimitSlotsPerJob, number(func(r *Resource) Opt[int64] { return r.MaxSlotsPerJob }))},
	{"GlueCEPolicyAssignedJobSlots", number(func(r *Resource) Opt[int64] { return r.AssignedSlots })},
	{"GlueCEPolicyPriority", number(func(r *Resource) Opt[int64] { return r.Priority })},
	{"GlueCEPolicyPreemption", number(preemption13)},
	{"GlueSiteUniqueID", text(func(r *Resource) string { return r.Site })},
	{"GlueSiteName", text(func(r *Resource) string { return r.Site })},
	{"GlueClusterUniqueID", text(func(r *Resource) string { return r.ClusterName() })},
	{"GlueSubClusterUniqueID", text(func(r *Resource) string { return r.CE })},
	{"GlueSubClusterLogicalCPUs", number(func(r *Resource) Opt[int64] { return r.LogicalCPUs })},
	{"GlueSubClusterPhysicalCPUs", number(func(r *Resource) Opt[int64] { return r.PhysicalCPUs })},
	{"GlueHostArchitecturePlatformType", text(platform13)},
	{"GlueHostArchitectureSMPSize", number(func(r *Resource) Opt[int64] { return r.SMPSize })},
	{"GlueHostMainMemoryRAMSize", number(func(r *Resource) Opt[int64] { return r.MainMemory })},
	{"GlueHostMainMemoryVirtualSize", number(func(r *Resource) Opt[int64] { return r.VirtualMemory })},
	{"GlueHostOperatingSystemName", text(func(r *Resource) string { return r.OSName })},
	{"GlueHostOperatingSystemRelease", text(func(r *Resource) string { return r.OSVersion })},
	{"GlueHostOperatingSystemVersion", text(func(r *Resource) string { return r.OSCodename })},
	{"GlueHostProcessorModel", text(func(r *Resource) string { return r.CPUModel })},
	{"GlueHostProcessorVendor", text(func(r *Resource) string { return r.CPUVendor })},
	{"GlueHostProcessorClockSpeed", number(func(r *Resource) Opt[int64] { return r.CPUClock })},
	{"GlueHostNetworkAdapterInboundIP", flag(func(r *Resource) Opt[bool] { return r.ConnectivityIn })},
	{"GlueHostNetworkAdapterOutboundIP", flag(func(r *Resource) Opt[bool] { return r.ConnectivityOut })},
	{"GlueHostBenchmarkSI00", benchmark("specint2000", true)},
	{"GlueHostBenchmarkSF00", benchmark("specfp2000", true)},
	{"GlueHostApplicationSoftwareRunTimeEnvironment", runtimeEnvironments},

	{"GLUE2ComputingShareMappingQueue", text(func(r *Resource) string { return r.Queue })},
	{"GLUE2ComputingShareServingState", text(func(r *Resource) string { return string(r.Serving) })},
	{"GLUE2ComputingShareRunningJobs", number(func(r *Resource) Opt[int64] { return r.Running })},
	{"GLUE2ComputingShareWaitingJobs", number(func(r *Resource) Opt[int64] { return r.Waiting })},
	{"GLUE2ComputingShareTotalJobs", number(func(r *Resource) Opt[int64] { return r.Total })},
	{"GLUE2ComputingShareLocalRunningJobs", number(func(r *Resource) Opt[int64] { return r.LocalRunning })},
	{"GLUE2ComputingShareLocalWaitingJobs", number(func(r *Resource) Opt[int64] { return r.LocalWaiting })},
	{"GLUE2ComputingSharePreLRMSWaitingJobs", number(func(r *Resource) Opt[int64] { return r.PreLRMSWaiting })},
	{"GLUE2ComputingShareStagingJobs", number(func(r *Resource) Opt[int64] { return r.Staging })},
	{"GLUE2ComputingShareFreeSlots", number(func(r *Resource) Opt[int64] { return r.FreeSlots })},
	{"GLUE2ComputingShareUsedSlots", number(func(r *Resource) Opt[int64] { return r.UsedSlots })},
	{"GLUE2ComputingShareFreeSlotsWithDuration", text(freeSlotsWithDuration)},
	{"GLUE2ComputingShareEstimatedAverageWaitingTime", duration(time.Second, func(r *Resource) Opt[time.Duration] { return r.EstimatedWait })},
	{"GLUE2ComputingShareEstimatedWorstWaitingTime", duration(time.Second, func(r *Resource) Opt[time.Duration] { return r.WorstWait })},
	{"GLUE2ComputingShareMaxWallTime", atMost(LimitWallTime, duration(time.Second, func(r *Resource) Opt[time.Duration] { return r.MaxWallTime }))},
	{"GLUE2ComputingShareMinWallTime", duration(time.Second, func(r *Resource) Opt[time.Duration] { return r.MinWallTime })},
	{"GLUE2ComputingShareDefaultWallTime", duration(time.Second, func(r *Resource) Opt[time.Duration] { return r.DefaultWallTime })},
	{"GLUE2ComputingShareMaxCPUTime", atMost(LimitCPUTime, duration(time.Second, func(r *Resource) Opt[time.Duration] { return r.MaxCPUTime }))},
	{"GLUE2ComputingShareDefaultCPUTime", duration(time.Second, func(r *Resource) Opt[time.Duration] { return r.DefaultCPUTime })},
	{"GLUE2ComputingShareMaxTotalJobs", atMost(LimitTotal, number(func(r *Resource) Opt[int64] { return r.MaxTotal }))},
	{"GLUE2ComputingShareMaxRunningJobs", atMost(LimitRunning, number(func(r *Resource) Opt[int64] { return r.MaxRunning }))},
	{"GLUE2ComputingShareMaxWaitingJobs", atMost(LimitWaiting, number(func(r *Resource) Opt[int64] { return r.MaxWaiting }))},
	{"GLUE2ComputingShareMaxPreLRMSWaitingJobs", atMost(LimitPreLRMSWaiting, number(func(r *Resource) Opt[int64] { return r.MaxPreLRMSWaiting }))},
	{"GLUE2ComputingShareMaxUserRunningJobs", atMost(LimitUserRunning, number(func(r *Resource) Opt[int64] { return r.MaxUserRunning }))},
	{"GLUE2ComputingShareMaxSlotsPerJob", atMost(LimitSlotsPerJob, number(func(r *Resource) Opt[int64] { return r.MaxSlotsPerJob }))},
	{"GLUE2ComputingShareMaxMainMemory", atMost(LimitMemory, number(func(r *Resource) Opt[int64] { return r.MaxMemory }))},
	{"GLUE2ComputingShareMaxVirtualMemory", atMost(LimitVirtualMemory, number(func(r *Resource) Opt[int64] { return r.MaxVirtualMemory }))},
	{"GLUE2ComputingShareMaxDiskSpace", atMost(LimitDisk, number(func(r *Resource) Opt[int64] { return Opt[int64]{r.MaxDisk.V / 1024, r.MaxDisk.OK} }))},
	{"GLUE2ComputingSharePreemption", flag(func(r *Resource) Opt[bool] { return r.Preemption })},
	{"GLUE2PolicyRule", list(func(r *Resource) []string { return r.Access })},
	{"GLUE2DomainID", text(func(r *Resource) string { return r.Site })},
	{"GLUE2ManagerProductName", text(func(r *Resource) string { return r.LRMS })},
	{"GLUE2ManagerProductVersion", text(func(r *Resource) string { return r.LRMSVersion })},
	{"GLUE2ComputingManagerTotalSlots", number(func(r *Resource) Opt[int64] { return r.TotalSlots })},
	{"GLUE2EndpointURL", endpointText(func(e *Endpoint) string { return e.URL })},
	{"GLUE2EndpointInterfaceName", endpointText(func(e *Endpoint) string { return e.Interface })},
	{"GLUE2EndpointHealthState", endpointText(func(e *Endpoint) string { return e.Health })},
	{"GLUE2EndpointServingState", endpointText(func(e *Endpoint) string { return string(e.Serving) })},
	{"GLUE2EndpointQualityLevel", endpointText(func(e *Endpoint) string { return e.Quality })},
	{"GLUE2EndpointImplementationName", text(func(r *Resource) string { return r.Implementation })},
	{"GLUE2EndpointImplementationVersion", text(func(r *Resource) string { return r.ImplVersion })},
	{"GLUE2ExecutionEnvironmentPlatform", text(func(r *Resource) string { return r.Platform })},
	{"GLUE2ExecutionEnvironmentOSFamily", text(func(r *Resource) string { return r.OSFamily })},
	{"GLUE2ExecutionEnvironmentOSName", text(func(r *Resource) string { return r.OSName })},
	{"GLUE2ExecutionEnvironmentOSVersion", text(func(r *Resource) string { return r.OSVersion })},
	{"GLUE2ExecutionEnvironmentCPUModel", text(func(r *Resource) string { return r.CPUModel })},
	{"GLUE2ExecutionEnvironmentCPUVendor", text(func(r *Resource) string { return r.CPUVendor })},
	{"GLUE2ExecutionEnvironmentCPUClockSpeed", number(func(r *Resource) Opt[int64] { return r.CPUClock })},
	{"GLUE2ExecutionEnvironmentMainMemorySize", number(func(r *Resource) Opt[int64] { return r.MainMemory })},
	{"GLUE2ExecutionEnvironmentVirtualMemorySize", number(func(r *Resource) Opt[int64] { return r.VirtualMemory })},
	{"GLUE2ExecutionEnvironmentLogicalCPUs", number(func(r *Resource) Opt[int64] { return r.SMPSize })},
	{"GLUE2ExecutionEnvironmentConnectivityIn", flag(func(r *Resource) Opt[bool] { return r.ConnectivityIn })},
	{"GLUE2ExecutionEnvironmentConnectivityOut", flag(func(r *Resource) Opt[bool] { return r.ConnectivityOut })},
	{"GLUE2ApplicationEnvironmentAppName", runtimeEnvironments},
	{"GLUE2EntityCreationTime", created},
	{"GLUE2EntityValidity", validity},
}

// brokerList are names that gLite's broker adds to the schema's.
var brokerList = []attribute{
	{"storage", storage},
	{"CloseStorageElements", list(closeStorage)},
}

// attributes is all names by lower-cased name.
var attributes = func() map[string]attribute {
	m := map[string]attribute{}
	for _, a := range slices.Concat(attributeList, brokerList) {
		m[string(lowerInto(nil, a.name))] = a
	}
	return m
}()

func created(r *Resource) (classad.Value, bool) {
	return classad.StringValue(r.Created.UTC().Format(time.RFC3339)), !r.Created.IsZero()
}

func validity(r *Resource) (classad.Value, bool) {
	return classad.IntValue(int64(r.Validity / time.Second)), r.Validity > 0
}
