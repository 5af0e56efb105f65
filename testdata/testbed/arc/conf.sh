# Sourced by up.sh: writes one CE's arc.conf to standard output.

wall_of() { case $1 in short) echo 3600 ;; gpu) echo 43200 ;; batch) echo 172800 ;; long) echo 604800 ;; *) echo 86400 ;; esac; }
memory_of() { case $1 in short) echo 2000 ;; batch) echo 8000 ;; gpu) echo 16000 ;; *) echo 4000 ;; esac; }

queue_conf() { # CE queue n
  cat <<X

[queue:$2]
comment=queue $2 of $1
totalcpus=${SLOTS[$1]}
maxwalltime=$(wall_of "$2")
maxcputime=$(wall_of "$2")
nodememory=$(memory_of "$2")
benchmark=HEPSPEC $((10 + $3)).26
advertisedvo=testers.$DOM
X
  [ "$2" != gpu ] || printf 'osname=ubuntu\nosversion=22.04\nosfamily=linux\n'
}

# Who runs the jobs: this machine, or the testbed's Slurm, whose commands know where it is.
lrms_of() { [ "$1" = "$CE_SLURM" ] && echo slurm || echo fork; } # CE
lrms_conf() { # CE
  [ "$1" = "$CE_SLURM" ] || { echo lrms=fork; return; }
  printf 'lrms=slurm\nslurm_bin_path=%s/ce/slurm-bin\nslurm_wakeupperiod=2\nslurm_use_sacct=no\n' "$STATE"
}

# What only 6.17 knows. Without the gridftpd blocks it publishes neither the NorduGrid nor the GLUE 1 schema.
only6() { # CE dir
  cat <<X

[authtokens]

[gridftpd]
port=$((PORT0 + 70 + ${1#arex}))
logfile=$2/log/gridftpd.log
pidfile=$2/run/gridftpd.pid

[gridftpd/jobs]
allowaccess=testers

[infosys/glue1]
resource_location=Testbed, Loopback
resource_latitude=55.75000
resource_longitude=12.41670
cpu_scaling_reference_si00=2400
processor_other_description=Cores=${SLOTS[$1]},Benchmark=9.8-HEP-SPEC06
glue_site_web=http://$1.$DOM/
glue_site_unique_id=TESTBED-$1
X
  # the first CE tells everybody what it has, the others only authorised users
  [ "$1" != arex1 ] || printf '\n[authgroup:anyone]\nall=yes\n\n[arex/ws/publicinfo]\nallowaccess=anyone\n'
}

arc_conf() { # CE
  local ce=$1 d base i=0 q
  base=$(inside "$ce") d=$base/$ce
  cat <<X
[common]
hostname=$ce.$DOM
x509_host_key=$base/host/$ce.key
x509_host_cert=$base/host/$ce.pem
x509_cert_dir=$base/certificates
$(is7 "$ce" && echo x509_cert_policy=grid)

[authgroup:testers]
subject=/DC=test/DC=grid/CN=Alice Tester
subject=/DC=test/DC=grid/CN=Bob Tester
authtokens=* $ISSUER/ * * *

[mapping]
map_to_user=testers $GRIDUSER:$GRIDUSER

[lrms]
$(lrms_conf "$ce")
gnu_time=/usr/bin/time

[arex]
controldir=$d/control
sessiondir=$d/session
runtimedir=$d/runtime
tmpdir=$d/tmp
logfile=$d/log/arex.log
joblog=$d/log/arex-jobs.log
helperlog=$d/log/job.helper.errors
pidfile=$d/run/arex.pid
loglevel=${GRID_TESTBED_ARC_LOGLEVEL:-3}
delegationdb=sqlite
maxjobs=10000 ${SLOTS[$ce]} 10000 ${LIMIT[$ce]} -1
wakeupperiod=20
infoproviders_timelimit=600
$([ "$ce" = arex5 ] && echo tokenscopes=wlcg)

[arex/data-staging]
logfile=$d/log/datastaging.log

[arex/ws]
wsurl=https://$ce.$DOM:$(rest_port "$ce")/arex
logfile=$d/log/ws-interface.log
pidfile=$d/run/arex-ws.pid

[arex/ws/jobs]
allowaccess=testers

[infosys]
logfile=$d/log/infoprovider.log
loglevel=3
validity_ttl=600

[infosys/ldap]
hostname=$ce.$DOM
slapd_hostnamebind=127.0.0.1
port=$(ldap_port "$ce")
threads=4
infosys_ldap_run_dir=$d/ldap/run
bdii_run_dir=$d/ldap/bdiirun
bdii_log_dir=$d/ldap/log
bdii_tmp_dir=$d/ldap/tmp
bdii_var_dir=$d/ldap/var
bdii_breathe_time=10
$(is7 "$ce" || printf 'bdii_database=mdb\nbdii_update_cmd=%s\n' "$base/bdii-update")

[infosys/nordugrid]

[infosys/glue2]
admindomain_name=TESTBED-$ce
admindomain_description=testbed site of $ce
admindomain_www=http://$ce.$DOM/
admindomain_owner=admin@$ce.$DOM
computingservice_qualitylevel=testing

[infosys/glue2/ldap]
showactivities=no

[infosys/cluster]
alias=Testbed $ce
comment=a cluster with ${SLOTS[$ce]} slots
cluster_location=DK-2100
cluster_owner=testbed
clustersupport=admin@$ce.$DOM
advertisedvo=testers.$DOM
architecture=x86_64
nodecpu=Testbed CPU @ 2000 MHz
nodememory=4000
opsys=adotf
nodeaccess=outbound
middleware=testbed-1.0
homogeneity=True
cpudistribution=${SLOTS[$ce]}cpu:1
X
  is7 "$ce" || only6 "$ce" "$d"
  for q in ${QUEUES[$ce]}; do i=$((i + 1)); queue_conf "$ce" "$q" $i; done
}
