from CRABClient.UserUtilities import config
config = config()
config.General.requestName = 'tutorial'
config.JobType.pluginName = 'Analysis'
config.Site.storageSite = 'T2_XX'
