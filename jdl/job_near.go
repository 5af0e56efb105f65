package jdl

import (
	"io/fs"
	"path"

	"gridbroker/jdl/classad"
)

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

// mostNames is among how many names of a directory a similar one is looked for.
const mostNames = 10_000

// nearestFile is the name that one which is not there was probably meant to be, among those that lie there; "" where none is
// near. The names are taken from the root; the answer is as written was.
func nearestFile(root fs.FS, rel, written string) string {
	if info, err := fs.Stat(root, path.Dir(rel)); err != nil || !info.IsDir() {
		return ""
	}
	dir, err := root.Open(path.Dir(rel))
	if err != nil {
		return ""
	}
	defer dir.Close()
	list, ok := dir.(fs.ReadDirFile)
	if !ok {
		return ""
	}
	entries, _ := list.ReadDir(mostNames) // what was read before an error will do
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	near := classad.Nearest(path.Base(rel), names)
	if near == "" {
		return ""
	}
	return path.Join(path.Dir(written), near)
}
