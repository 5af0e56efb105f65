package jdl

import "gridbroker/jdl/classad"

// attrType is what an attribute's value must be.
type attrType uint8

const (
	tAny      attrType = iota
	tString            // a string
	tStrings           // a string, or a list of strings
	tInt               // an integer
	tNumber            // an integer or a real
	tBool              // a boolean
	tExpr              // an expression, evaluated against a resource
	tRecord            // a record
	tRecords           // a record, or a list of records
	tDuration          // seconds, or a string with units
	tSize              // MB, or a string with units
	tParams            // an integer, or a list
	tNodes             // the nodes of a collection or DAG
	tCodes             // true, an exit code, or a list of them
)

func (t attrType) String() string {
	return [...]string{"anything", "a string", "a string or a list of strings", "an integer", "a number", "a boolean",
		"an expression", "a record", "a record or a list of records",
		`a number of seconds or a string such as "1h30m"`, `a number of MB or a string such as "4 GB"`,
		"an integer or a list", "a list or record of nodes", "true, an exit code or a list of them"}[t]
}

// Where an attribute is known, and what becomes of it.
const (
	inGLite    = 1 << iota // gLite's JDL
	inDIRAC                // DIRAC's JDL
	inOurs                 // ours, in either dialect
	inInternal             // written by a broker into its own records
	isIgnored              // known, and nothing here acts on it
	isRefused              // a job kind that no longer exists
	diracOnly              // in a text without gLite names, evidence of DIRAC
	gliteOnly              // evidence of gLite
)

type attrDef struct {
	name string
	typ  attrType
	mode uint
	min  int64 // of an integer; noMin: any
}

const noMin = -1 << 63

// attrTable lists the attributes of a job: sections "JDL attributes" of the
// gLite JDL guide (EDMS 590869), CREAM's own, DIRAC's JDL, and ours. DIRAC
// accepts gLite's name of the same meaning where both have one.
var attrTable = []attrDef{
	{"Type", tString, inGLite | inDIRAC, noMin},
	{"JobType", tStrings, inGLite | inDIRAC, noMin},
	{"JobName", tString, inDIRAC | inOurs, noMin},
	{"Executable", tString, inGLite | inDIRAC, noMin},
	{"Arguments", tString, inGLite | inDIRAC, noMin},
	{"StdInput", tString, inGLite | inDIRAC, noMin},
	{"StdOutput", tString, inGLite | inDIRAC, noMin},
	{"StdError", tString, inGLite | inDIRAC, noMin},
	{"InputSandbox", tStrings, inGLite | inDIRAC, noMin},
	{"InputSandboxBaseURI", tString, inGLite, noMin},
	{"InputSandboxDestFileName", tStrings, inGLite | gliteOnly, noMin},
	{"OutputSandbox", tStrings, inGLite | inDIRAC, noMin},
	{"OutputSandboxDestURI", tStrings, inGLite | gliteOnly, noMin},
	{"OutputSandboxDestFileName", tStrings, inOurs, noMin},
	{"OutputSandboxBaseDestURI", tString, inGLite | gliteOnly, noMin},
	{"AllowZippedISB", tBool, inGLite | gliteOnly, noMin},
	{"ZippedISB", tAny, inGLite | inInternal | isIgnored, noMin},
	{"ExpiryTime", tInt, inGLite | gliteOnly, 0},
	{"Environment", tStrings, inGLite, noMin},
	{"ExecutionEnvironment", tStrings, inDIRAC, noMin},
	{"InputData", tStrings, inGLite | inDIRAC, noMin},
	{"DataRequirements", tRecords, inGLite | gliteOnly, noMin},
	{"DataAccessProtocol", tStrings, inGLite | gliteOnly, noMin},
	{"DataCatalog", tString, inGLite | gliteOnly | isIgnored, noMin},
	{"DataCatalogType", tString, inGLite | gliteOnly | isIgnored, noMin},
	{"StorageIndex", tString, inGLite | gliteOnly | isIgnored, noMin},
	{"OutputData", tAny, inGLite | inDIRAC, noMin},
	{"OutputSE", tStrings, inGLite | inDIRAC, noMin},
	{"VirtualOrganisation", tString, inGLite | gliteOnly, noMin},
	{"VirtualOrganization", tString, inDIRAC, noMin},
	{"RetryCount", tInt, inGLite | gliteOnly, 0},
	{"ShallowRetryCount", tInt, inGLite | gliteOnly, -1},
	{"DefaultNodeRetryCount", tInt, inGLite | gliteOnly, 0},
	{"DefaultNodeShallowRetryCount", tInt, inGLite | gliteOnly, -1},
	{"MyProxyServer", tString, inGLite | gliteOnly, noMin},
	{"HLRLocation", tString, inGLite | gliteOnly, noMin},
	{"LBAddress", tString, inGLite | gliteOnly | isIgnored, noMin},
	{"JobProvenance", tString, inGLite | gliteOnly | isIgnored, noMin},
	{"Prologue", tString, inGLite | gliteOnly, noMin},
	{"PrologueArguments", tString, inGLite | gliteOnly, noMin},
	{"Epilogue", tString, inGLite | gliteOnly, noMin},
	{"EpilogueArguments", tString, inGLite | gliteOnly, noMin},
	{"PerusalFileEnable", tBool, inGLite | gliteOnly, noMin},
	{"PerusalTimeInterval", tDuration, inGLite | gliteOnly, noMin},
	{"PerusalFilesDestURI", tString, inGLite | gliteOnly | isIgnored, noMin},
	{"PerusalListFileURI", tString, inGLite | gliteOnly | isIgnored, noMin},
	{"ListenerPort", tInt, inGLite | gliteOnly | isIgnored, 1},
	{"ListenerHost", tString, inGLite | gliteOnly | isIgnored, noMin},
	{"ListenerPipeName", tString, inGLite | gliteOnly | isIgnored, noMin},
	{"CPUNumber", tInt, inGLite | gliteOnly, 1},
	{"NodeNumber", tInt, inGLite | gliteOnly, 1},
	{"SMPGranularity", tInt, inGLite | gliteOnly, 1},
	{"HostNumber", tInt, inGLite | gliteOnly, 1},
	{"WholeNodes", tBool, inGLite | inOurs, noMin},
	{"GPUNumber", tInt, inGLite | inOurs, 0},
	{"GPUModel", tString, inGLite | inOurs, noMin},
	{"ShortDeadlineJob", tBool, inGLite | gliteOnly, noMin},
	{"EnableWmsFeedback", tBool, inGLite | gliteOnly | isIgnored, noMin},
	{"node_type", tString, inGLite | gliteOnly | isIgnored, noMin},
	{"FuzzyRank", tBool, inGLite | gliteOnly, noMin},
	{"FuzzyFactor", tNumber, inGLite | gliteOnly, noMin},
	{"fuzzy_factor", tNumber, inGLite | gliteOnly, noMin},
	{"Requirements", tExpr, inGLite | gliteOnly, noMin},
	{"Rank", tExpr, inGLite | gliteOnly, noMin},
	{"DefaultRank", tExpr, inGLite | gliteOnly | inInternal, noMin},
	{"CERequirements", tExpr, inGLite | gliteOnly, noMin},
	{"SubmitTo", tString, inGLite | gliteOnly, noMin},
	{"UserTags", tRecord, inGLite | gliteOnly, noMin},
	{"UserContact", tString, inGLite | gliteOnly | isIgnored, noMin},
	{"NotificationType", tString, inGLite | gliteOnly | isIgnored, noMin},
	{"ReplicaCatalog", tString, inGLite | gliteOnly | isIgnored, noMin},
	{"BatchSystem", tString, inGLite | gliteOnly, noMin},
	{"QueueName", tString, inGLite, noMin},
	{"MWVersion", tString, inGLite | gliteOnly | isIgnored, noMin},
	{"SignificantAttributes", tStrings, inGLite | gliteOnly, noMin},

	{"JobSteps", tAny, inGLite | isRefused, noMin},
	{"CurrentStep", tAny, inGLite | isRefused, noMin},
	{"JobState", tAny, inGLite | isRefused, noMin},
	{"PartitionNumber", tAny, inGLite | isRefused, noMin},
	{"StepWeight", tAny, inGLite | isRefused, noMin},
	{"Prejob", tAny, inGLite | isRefused, noMin},
	{"Postjob", tAny, inGLite | isRefused, noMin},

	{"Parameters", tParams, inGLite | inDIRAC, noMin},
	{"ParameterStart", tAny, inGLite | inDIRAC, noMin},
	{"ParameterStep", tAny, inGLite | inDIRAC, noMin},
	{"ParameterFactor", tAny, inDIRAC | diracOnly, noMin},
	{"Nodes", tNodes, inGLite | gliteOnly, noMin},
	{"Dependencies", tAny, inGLite | gliteOnly, noMin},
	{"Max_Nodes_Running", tInt, inGLite | gliteOnly, 1},
	{"NodesCollocation", tBool, inGLite | gliteOnly, noMin},
	{"NodeName", tString, inGLite, noMin},
	{"File", tString, inGLite, noMin},
	{"Description", tRecord, inGLite, noMin},

	{"JobGroup", tString, inDIRAC | diracOnly, noMin},
	{"InputDataModule", tString, inDIRAC | diracOnly | isIgnored, noMin},
	{"InputDataPolicy", tStrings, inDIRAC | diracOnly | isIgnored, noMin},
	{"OutputPath", tString, inDIRAC | diracOnly | isIgnored, noMin},
	{"Site", tStrings, inGLite | inDIRAC | diracOnly, noMin},
	{"BannedSites", tStrings, inGLite | inDIRAC | diracOnly, noMin},
	{"BannedSite", tStrings, inGLite | inDIRAC | diracOnly, noMin},
	{"GridCE", tStrings, inGLite | inDIRAC | diracOnly, noMin},
	{"GridRequiredCEs", tStrings, inGLite | inDIRAC | diracOnly, noMin},
	{"Platform", tString, inDIRAC | diracOnly | isIgnored, noMin},
	{"Priority", tNumber, inDIRAC | inOurs, noMin},
	{"LogLevel", tString, inDIRAC | diracOnly | isIgnored, noMin},
	{"NumberOfProcessors", tInt, inDIRAC | diracOnly, 1},
	{"MinNumberOfProcessors", tInt, inDIRAC | diracOnly, 1},
	{"MaxNumberOfProcessors", tInt, inDIRAC | diracOnly, 1},
	{"Tags", tStrings, inDIRAC | diracOnly, noMin},
	{"Tag", tStrings, inDIRAC | diracOnly, noMin},
	{"Owner", tString, inDIRAC | diracOnly | isIgnored, noMin},
	{"OwnerGroup", tStrings, inDIRAC | diracOnly | isIgnored, noMin},

	{"WallTime", tDuration, inOurs, noMin},
	{"CPUTime", tDuration, inOurs | inDIRAC, noMin},
	{"Memory", tSize, inOurs, noMin},
	{"VirtualMemory", tSize, inOurs, noMin},
	{"Disk", tSize, inOurs, noMin},
	{"RunTimeEnvironment", tStrings, inOurs, noMin},
	{"ContainerImage", tString, inOurs, noMin},
	{"Queue", tString, inOurs, noMin},
	{"ExecutableFiles", tStrings, inOurs, noMin},
	{"DependsOn", tStrings, inOurs, noMin},
	{"NodeInputs", tRecords, inOurs, noMin},
	{"RetryOnExit", tCodes, inOurs, noMin},
	{"AbortDAGOn", tCodes, inOurs, noMin},
	{"AbortedBy", tStrings, inOurs, noMin},
	{"FinalNode", tBool, inOurs, noMin},
	{"AfterAny", tBool, inOurs, noMin},
	{"SkipAlong", tBool, inOurs, noMin},
	{"PreScript", tRecord, inOurs, noMin},
	{"PostScript", tRecord, inOurs, noMin},
	{"NoJob", tBool, inOurs, noMin},
	{"NodeCategory", tString, inOurs, noMin},
	{"MaxCategoryRunning", tInt, inOurs, 1},
	{"AutoOutput", tBool, inOurs, noMin},
	{"CondorSubmit", tRecord, inOurs, noMin},

	{"VOMS_FQAN", tString, inInternal, noMin},
	{"edg_jobId", tString, inInternal, noMin},
	{"edg_dg_jobId", tString, inInternal, noMin},
	{"lb_sequence_code", tString, inInternal, noMin},
	{"CertificateSubject", tString, inInternal, noMin},
	{"X509UserProxy", tString, inInternal, noMin},
	{"CeRank", tExpr, inInternal, noMin},
	{"ce_id", tString, inInternal, noMin},
	{"lrms_type", tString, inInternal, noMin},
	{"GlobusResourceContactString", tString, inInternal, noMin},
	{"InputSandboxPath", tString, inInternal, noMin},
	{"OutputSandboxPath", tString, inInternal, noMin},
	{"WMPInputSandboxBaseURI", tString, inInternal, noMin},
	{"WMPOutputSandboxBaseDestURI", tString, inInternal, noMin},
	{"ParameterValue", tAny, inInternal, noMin},
}

// attrIndex is attrTable by lower-case name.
var attrIndex = indexAttrs(attrTable)

func indexAttrs(table []attrDef) map[string]*attrDef {
	index := make(map[string]*attrDef, len(table))
	for i := range table {
		index[classad.Fold(table[i].name)] = &table[i]
	}
	return index
}

// findAttr looks an attribute up; nil: not known.
func findAttr(name string) *attrDef { return attrIndex[classad.Fold(name)] }
