// Package infosys discovers computing resources: information systems that
// speak LDAP (BDII, ARC) with GLUE 1.3 and 2.0, ARC REST, files, the ARCHERY
// registry. All sources are asked in parallel under one deadline, and a
// partial answer is normal.
package infosys
