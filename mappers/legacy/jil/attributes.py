"""JIL subcommands and attributes."""

import difflib
import re

#: Known subcommands: operations on types of objects.
SUBCOMMANDS = frozenset(
    f"{verb}_{object_type}"
    for verb, object_types in {
        "insert": "job machine global xinst resource job_type monbro blob glob connectionprofile",
        "update": "job machine xinst resource job_type monbro connectionprofile",
        "delete": "job box machine global xinst resource job_type monbro blob glob connectionprofile",
        "override": "job",
        "rename": "job",
    }.items()
    for object_type in object_types.split()
)
#: Everything that looks like a subcommand starts a statement, even if it is unknown.
_SUBCOMMAND = re.compile(r"(?:insert|update|delete|override|rename)_\w+")
#: Any other operation on these objects also starts a statement, unless it is the name of an attribute.
_OTHER_SUBCOMMAND = re.compile(
    r"[a-z]+_(?:job|box|machine|global|xinst|resource|job_type|monbro|blob|glob|connectionprofile)"
)

#: Lists, which may continue on the next line.
LIST_ATTRIBUTES = frozenset(
    [
        "start_times",
        "start_mins",
        "must_start_times",
        "must_complete_times",
        "days_of_week",
        "envvars",
        "machine",
        "resources",
        "run_calendar",
        "exclude_calendar",
        "success_codes",
        "fail_codes",
        "job_load",
        "notification_emailaddress",
    ]
)
CONDITION_ATTRIBUTES = ("condition", "box_success", "box_failure")
#: Free text, which may contain attribute names.
TEXT_ATTRIBUTES = frozenset(
    {"command", "description", "notification_msg", "sql_command", "sp_arg", "filter", "blob_input"}
)

_ATTRIBUTE_NAMES = """
agent_name alarm_if_fail alarm_if_terminated alias amount application auth_string auto_delete auto_hold
avg_runtime bdc_err_rate blob_file blob_input blob_mode blob_type box_failure box_name box_success
box_terminator buffer_proc character_code chk_files class command command_type condition connect_string
continuous continuous_alarm cpu_usage date_conditions days_of_week dbtype default_machine delete_files
description destination_file disk_drive disk_space ecp_type elevated encoding endpoint_url envvars
exclude_calendar external_app factor fail_codes file_type filter ftp_compression ftp_local_name ftp_local_user
ftp_remote_name ftp_server_name ftp_server_port ftp_smtp_code ftp_transfer_direction ftp_transfer_type
ftp_use_SSL fx_type group heartbeat_interval i5_action i5_cc_exit i5_curr_lib i5_job_desc i5_job_name
i5_job_queue i5_lda i5_lib i5_library i5_name i5_others i5_params i5_process_priority inside_range inst_name
interactive invocation_type j2ee_authentication_order j2ee_conn_factory j2ee_no_global_proxy_defaults
j2ee_parameter j2ee_proxy_domain j2ee_proxy_host j2ee_proxy_port j2ee_proxy_user j2ee_user jmx_mbean jmx_user
job_class job_load job_qualifier job_terminator job_type key_to_agent less_than level loc_type lower_boundary
mach_method machine max_exit_success max_load max_run_alarm method_name min_run_alarm monitor_cond
monitor_mode monitor_type must_complete_times must_start_times n_retrys new_name no_change node_name
notification_alarm_types notification_emailaddress notification_emailaddress_on_alarm
notification_emailaddress_on_failure notification_emailaddress_on_success
notification_emailaddress_on_terminated notification_id notification_msg notification_service_desk
notification_template one_way opsys oracle_appl_name oracle_appl_name_type oracle_appl_type oracle_args
oracle_desc oracle_print_copies oracle_print_style oracle_printer oracle_program oracle_req_set oracle_resp
oracle_user override owner permission port priority process_name profile provider_url ps_args ps_dest_format
ps_dest_type ps_email_address ps_email_address_expanded ps_email_log ps_email_subject ps_email_text
ps_email_web_report ps_operator_id ps_output_dest ps_process_name ps_process_type ps_run_cntrl_args
ps_run_cntrl_id ps_run_control_table ps_server_name ps_skip_parm_updates ps_time_zone remote_name request_id
res_type resources result_type return_class_name run_calendar run_window sap_abap_name sap_chain_id sap_client
sap_event_id sap_event_parm sap_ext_table sap_fail_msg sap_infopack_id sap_is_trigger sap_job_class
sap_job_count sap_job_name sap_job_release_option sap_lang sap_mon_child sap_office sap_print_parms
sap_proc_type sap_process_client sap_process_status sap_recipients sap_release_option sap_rfc_dest
sap_step_num sap_step_parms sap_success_msg sap_target_jobname sap_target_sys sap_variant scp_local_name
scp_local_user scp_protocol scp_remote_dir scp_remote_name scp_server_name scp_server_name_2 scp_server_port
scp_target_os scp_transfer_direction search_bw secure_ssh send_notification server_name service_desk
service_name shell sp_arg sp_name sql_command start_mins start_times status std_err_file std_in_file
std_out_file success_codes success_criteria success_pattern svcdesk_attr svcdesk_desc svcdesk_imp svcdesk_pri
svcdesk_sev tablename term_run_time text_file_filter text_file_filter_exists text_file_mode text_file_name
time_position timezone trigger_cond trigger_type type ulimit upper_boundary url user_role value wait
watch_file watch_file_change_type watch_file_change_value watch_file_groupname watch_file_interval
watch_file_min_size watch_file_owner watch_file_recursive watch_file_type watch_file_win_user watch_interval
watch_no_change web_parameter webservice_authentication_order win_event_category win_event_computer
win_event_datetime win_event_description win_event_id win_event_op win_event_source win_event_type
win_log_name wsdl_operation wsdl_url xcrypt_type xinst xkey_to_manager xmachine xport xtype zos_dataset
zos_dsn_renamed zos_dsn_updated zos_explicit_dsn zos_jobname zos_trigger_by zos_trigger_on zos_trigger_type
"""
#: Attributes of objects other than jobs; the attributes of monitors and connection profiles are unknown.
_OBJECT_ATTRIBUTE_NAMES = {
    "machine": (
        "agent_name character_code description encryption_type factor force heartbeat_attempts heartbeat_freq "
        "key_to_agent machine max_load node_name opsys port remove_references type"
    ),
    "global": "value",
    "xinst": "xtype xmachine xport xmanager xcrypt_type xkey_to_manager",
    "resource": "res_type amount description machine",
    "job_type": "command description",
    "blob": "blob_file blob_input blob_mode blob_type",
    "glob": "blob_file blob_input blob_mode blob_type",
}
_OBJECT_ATTRIBUTES = {object_type: frozenset(names.split()) for object_type, names in _OBJECT_ATTRIBUTE_NAMES.items()}
ATTRIBUTES = frozenset(name.lower() for name in _ATTRIBUTE_NAMES.split()).union(*_OBJECT_ATTRIBUTES.values())


def is_subcommand(name: str) -> bool:
    """Return whether a word starts a statement, even if the subcommand is unknown."""
    return _SUBCOMMAND.fullmatch(name) is not None or (
        name not in ATTRIBUTES and _OTHER_SUBCOMMAND.fullmatch(name) is not None
    )


def similar_attribute(attribute: str) -> str | None:
    """Return the known attribute with the most similar name, if any is similar.

    Only names with the same first letter and about the same length are compared, because a file may contain thousands
    of unknown attributes.
    """
    candidates = [name for name in ATTRIBUTES if name[0] == attribute[0] and abs(len(name) - len(attribute)) <= 2]
    return next(iter(difflib.get_close_matches(attribute, sorted(candidates), 1, cutoff=0.8)), None)


def is_valid_attribute(attribute: str, subcommand: str) -> bool:
    """Return whether an attribute is valid for the object type of a subcommand; True for unknown types."""
    _, _, object_type = subcommand.partition("_")
    valid_attributes = ATTRIBUTES if object_type in {"job", "box"} else _OBJECT_ATTRIBUTES.get(object_type)
    return valid_attributes is None or attribute in valid_attributes
