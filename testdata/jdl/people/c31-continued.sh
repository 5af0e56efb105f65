#-*-shell-script-*- 

universe     = vanilla
Requirements = OSGVO_OS_VERSION == "7" && \
               CVMFS_oasis_opensciencegrid_org_REVISION >= 10686   && \
               GLIDEIN_ResourceName != "MWT2"

+ProjectName = "duke.lsst"
+WantsCvmfsStash = true
request_memory = 4G
executable = run.sh
should_transfer_files = YES
when_to_transfer_output = ON_EXIT_OR_EVICT
transfer_input_files    = data.txt, \
                          cfg.json

transfer_output_files   = a.sh,b.sh,c.sh,
transfer_output_remaps  = "a.sh = /home/user/out/a.sh; b.sh = /home/user/out/b.sh"
queue
