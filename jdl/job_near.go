package jdl

import "gridbroker/jdl/classad"

// nearestAttr returns the attribute of a job that a name was probably meant
// to be, or "".
func nearestAttr(name string) string {
	if ours := otherNames[classad.Fold(name)]; ours != "" {
		return ours
	}
	names := make([]string, 0, len(attrTable))
	for _, def := range attrTable {
		if def.mode&inInternal == 0 {
			names = append(names, def.name)
		}
	}
	return classad.Nearest(name, names)
}

// otherNames are what others call our attributes, folded.
var otherNames = map[string]string{
	"maxcputime": "CPUTime", "maxwalltime": "WallTime", "walltimelimit": "WallTime", "maxwallclocktime": "WallTime", "cputimelimit": "CPUTime",
	"cpus": "CPUNumber", "cores": "CPUNumber", "ncpus": "CPUNumber", "cpucores": "CPUNumber", "processors": "CPUNumber", "nodes_number": "HostNumber",
	"mem": "Memory", "ram": "Memory", "minmemory": "Memory", "maxmemory": "Memory", "requestmemory": "Memory", "diskspace": "Disk",
	"gpus": "GPUNumber", "gpucount": "GPUNumber", "output": "StdOutput", "stdout": "StdOutput", "stderr": "StdError", "stdin": "StdInput",
	"input": "StdInput", "error": "StdError", "env": "Environment", "args": "Arguments", "inputfiles": "InputSandbox", "outputfiles": "OutputSandbox",
	"vo": "VirtualOrganisation", "name": "JobName",
}
