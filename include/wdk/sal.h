/* SPDX-License-Identifier: MIT */
/*
 * Source annotations. They speak to Microsoft's analyser; to a compiler here each is nothing. The old spelling (__in) and
 * the new one (_In_) are both accepted, as are the driver annotations (_IRQL_requires_), which Windows has in
 * driverspecs.h and concurrencysal.h.
 */
#ifndef ONDK_WDK_SAL_H
#define ONDK_WDK_SAL_H

#define _In_
#define _In_opt_
#define _In_z_
#define _In_opt_z_
#define _Inout_
#define _Inout_opt_
#define _Inout_z_
#define _Inout_opt_z_
#define _Out_
#define _Out_opt_
#define _Outptr_
#define _Outptr_opt_
#define _Outptr_result_maybenull_
#define _Outptr_opt_result_maybenull_
#define _Outptr_result_nullonfailure_
#define _Outptr_opt_result_nullonfailure_
#define _Outptr_result_z_
#define _Outptr_opt_result_z_
#define _Outref_
#define _Outref_result_maybenull_
#define _Outref_result_nullonfailure_
#define _COM_Outptr_
#define _COM_Outptr_opt_
#define _COM_Outptr_result_maybenull_
#define _COM_Outptr_opt_result_maybenull_
#define _Ret_maybenull_
#define _Ret_notnull_
#define _Ret_null_
#define _Ret_valid_
#define _Ret_z_
#define _Ret_maybenull_z_
#define _Ret_opt_
#define _Check_return_
#define _Must_inspect_result_
#define _Must_inspect_impl_
#define _Maybenull_
#define _Notnull_
#define _Null_
#define _Null_terminated_
#define _NullNull_terminated_
#define _Notvalid_
#define _Reserved_
#define _Const_
#define _Points_to_data_
#define _Literal_
#define _Notliteral_
#define _Printf_format_string_
#define _Scanf_format_string_
#define _Scanf_s_format_string_
#define _Use_decl_annotations_
#define _Raises_SEH_exception_
#define _Maybe_raises_SEH_exception_
#define _Frees_ptr_
#define _Frees_ptr_opt_
#define _Pre_
#define _Post_
#define _Pre_valid_
#define _Post_valid_
#define _Pre_notnull_
#define _Post_notnull_
#define _Pre_maybenull_
#define _Post_maybenull_
#define _Pre_null_
#define _Post_null_
#define _Pre_invalid_
#define _Post_invalid_
#define _Post_ptr_invalid_
#define _Pre_opt_valid_
#define _Pre_defensive_
#define _Post_defensive_
#define _Prepost_z_
#define _Prepost_valid_
#define _Prepost_opt_valid_
#define _Pre_z_
#define _Post_z_
#define _Pre_readonly_
#define _Pre_writeonly_
#define _Deref_pre_
#define _Deref_post_
#define _Deref_out_
#define _Deref_out_opt_
#define _Deref_opt_out_
#define _Deref_opt_out_opt_
#define _Deref_post_valid_
#define _Deref_post_maybenull_
#define _Deref_post_notnull_
#define _Deref_post_null_
#define _Deref_pre_valid_
#define _Deref_prepost_z_
#define _Deref_prepost_opt_z_
#define _Deref_out_z_
#define _Deref_out_opt_z_
#define _Deref_post_z_
#define _Success_impl_
#define _Analysis_noreturn_
#define _Enum_is_bitflag_
#define _Strict_type_match_
#define _Kernel_entry_
#define _Kernel_entry_always_
#define _IRQL_restores_
#define _IRQL_saves_
#define _IRQL_requires_same_
#define _IRQL_always_
#define _Interlocked_
#define _Interlocked_operand_
#define _Requires_no_locks_held_
#define _No_competing_thread_
#define _No_competing_thread_begin_
#define _No_competing_thread_end_
#define __deref
#define __field_nullterminated
#define __nullterminated
#define __nullnullterminated
#define __reserved
#define __checkReturn
#define __in
#define __in_opt
#define __inout
#define __inout_opt
#define __out
#define __out_opt
#define __in_z
#define __in_opt_z
#define __inout_z
#define __deref_out
#define __deref_out_opt
#define __deref_opt_out
#define __deref_opt_out_opt
#define __deref_inout
#define __deref_inout_opt
#define __callback
#define __format_string
#define __drv_inTry
#define __drv_notInTry
#define __drv_sameIRQL
#define __drv_aliasesMem
#define __drv_interlocked
#define __drv_isObjectPointer
#define __kernel_entry
#define __drv_restoresIRQL
#define __drv_constant
#define __drv_nonConstant
#define __drv_dispatchType_other
#define _Benign_race_begin_
#define _Benign_race_end_
#define _Guarded_by_none_
#define _Write_guarded_by_none_
#define __drv_savesIRQL
#define __drv_floatSaved
#define __drv_floatRestored
#define __drv_useCancelIRQL
#define __user
#define __nonull
#define _In_reads_(x)
#define _In_reads_opt_(x)
#define _In_reads_bytes_(x)
#define _In_reads_bytes_opt_(x)
#define _In_reads_z_(x)
#define _In_reads_opt_z_(x)
#define _In_reads_or_z_(x)
#define _In_reads_or_z_opt_(x)
#define _In_reads_to_ptr_(x)
#define _In_reads_to_ptr_opt_(x)
#define _In_range_(x)
#define _In_bound_(x)
#define _In_function_class_(x)
#define _Inout_updates_(x)
#define _Inout_updates_opt_(x)
#define _Inout_updates_z_(x)
#define _Inout_updates_opt_z_(x)
#define _Inout_updates_bytes_(x)
#define _Inout_updates_bytes_opt_(x)
#define _Inout_updates_all_(x)
#define _Inout_updates_all_opt_(x)
#define _Inout_updates_bytes_all_(x)
#define _Inout_updates_bytes_all_opt_(x)
#define _Out_writes_(x)
#define _Out_writes_opt_(x)
#define _Out_writes_z_(x)
#define _Out_writes_opt_z_(x)
#define _Out_writes_bytes_(x)
#define _Out_writes_bytes_opt_(x)
#define _Out_writes_all_(x)
#define _Out_writes_all_opt_(x)
#define _Out_writes_bytes_all_(x)
#define _Out_writes_bytes_all_opt_(x)
#define _Out_writes_to_ptr_(x)
#define _Out_writes_to_ptr_opt_(x)
#define _Out_range_(x)
#define _Outptr_result_bytebuffer_(x)
#define _Outptr_result_bytebuffer_maybenull_(x)
#define _Outptr_opt_result_bytebuffer_(x)
#define _Outptr_result_buffer_(x)
#define _Outptr_opt_result_buffer_(x)
#define _Outptr_result_buffer_maybenull_(x)
#define _Outptr_opt_result_buffer_maybenull_(x)
#define _Outptr_opt_result_bytebuffer_maybenull_(x)
#define _Deref_out_range_(x)
#define _Deref_in_range_(x)
#define _Deref_inout_range_(x)
#define _Ret_writes_(x)
#define _Ret_writes_z_(x)
#define _Ret_writes_bytes_(x)
#define _Ret_writes_maybenull_(x)
#define _Ret_writes_bytes_maybenull_(x)
#define _Ret_range_(x)
#define _Field_range_(x)
#define _Field_size_(x)
#define _Field_size_opt_(x)
#define _Field_size_bytes_(x)
#define _Field_size_bytes_opt_(x)
#define _Field_size_full_(x)
#define _Field_size_full_opt_(x)
#define _Field_size_bytes_full_(x)
#define _Field_size_bytes_full_opt_(x)
#define _Struct_size_bytes_(x)
#define _Success_(x)
#define _On_failure_(x)
#define _Always_(x)
#define _Group_(x)
#define _Pre_satisfies_(x)
#define _Post_satisfies_(x)
#define _Satisfies_(x)
#define _Return_type_success_(x)
#define _Post_equal_to_(x)
#define _Pre_equal_to_(x)
#define _Unchanged_(x)
#define _Pre_readable_size_(x)
#define _Post_readable_size_(x)
#define _Pre_readable_byte_size_(x)
#define _Post_readable_byte_size_(x)
#define _Pre_writable_size_(x)
#define _Post_writable_size_(x)
#define _Pre_writable_byte_size_(x)
#define _Post_writable_byte_size_(x)
#define _Readable_bytes_(x)
#define _Readable_elements_(x)
#define _Writable_bytes_(x)
#define _Writable_elements_(x)
#define _Function_class_(x)
#define _Analysis_mode_(x)
#define _Analysis_suppress_lock_checking_(x)
#define _Scanf_format_string_params_(x)
#define _Printf_format_string_params_(x)
#define _Pre_cap_(x)
#define _Pre_bytecap_(x)
#define _Post_count_(x)
#define _Post_bytecount_(x)
#define _Ret_count_(x)
#define _Ret_bytecount_(x)
#define _Ret_cap_(x)
#define _Ret_bytecap_(x)
#define _In_count_(x)
#define _In_bytecount_(x)
#define _In_opt_count_(x)
#define _In_opt_bytecount_(x)
#define _Out_cap_(x)
#define _Out_opt_cap_(x)
#define _Out_bytecap_(x)
#define _Out_opt_bytecap_(x)
#define _Out_z_cap_(x)
#define _Inout_count_(x)
#define _Inout_bytecount_(x)
#define _Inout_cap_(x)
#define _Inout_bytecap_(x)
#define _IRQL_requires_(x)
#define _IRQL_requires_max_(x)
#define _IRQL_requires_min_(x)
#define _IRQL_raises_(x)
#define _IRQL_uses_cancel_(x)
#define _IRQL_limited_to_(x)
#define _IRQL_always_function_max_(x)
#define _IRQL_always_function_min_(x)
#define _Acquires_lock_(x)
#define _Releases_lock_(x)
#define _Requires_lock_held_(x)
#define _Requires_lock_not_held_(x)
#define _Acquires_exclusive_lock_(x)
#define _Acquires_shared_lock_(x)
#define _Releases_exclusive_lock_(x)
#define _Releases_shared_lock_(x)
#define _Acquires_nonreentrant_lock_(x)
#define _Releases_nonreentrant_lock_(x)
#define _Requires_exclusive_lock_held_(x)
#define _Requires_shared_lock_held_(x)
#define _Has_lock_level_(x)
#define _Guarded_by_(x)
#define _Write_guarded_by_(x)
#define _Has_lock_kind_(x)
#define _Internal_lock_level_(x)
#define _Kernel_requires_resource_held_(x)
#define _Kernel_requires_resource_not_held_(x)
#define _Kernel_acquires_resource_(x)
#define _Kernel_releases_resource_(x)
#define _Kernel_clear_do_init_(x)
#define _Dispatch_type_(x)
#define __drv_allocatesMem(x)
#define __drv_freesMem(x)
#define __drv_maxIRQL(x)
#define __drv_minIRQL(x)
#define __drv_requiresIRQL(x)
#define __drv_raisesIRQL(x)
#define __drv_setsIRQL(x)
#define __drv_dispatchType(x)
#define __drv_functionClass(x)
#define __drv_in(x)
#define __drv_out(x)
#define __drv_inout(x)
#define __drv_inout_deref(x)
#define __drv_in_deref(x)
#define __drv_out_deref(x)
#define __drv_ret(x)
#define __drv_mustHold(x)
#define __drv_neverHold(x)
#define __drv_acquiresResource(x)
#define __drv_releasesResource(x)
#define __drv_strictType(x)
#define __drv_strictTypeMatch(x)
#define __drv_valueIs(x)
#define __drv_preferredFunction(x)
#define __drv_reportError(x)
#define __drv_acquiresExclusiveResource(x)
#define __drv_releasesExclusiveResource(x)
#define __drv_clearDoInit(x)
#define __drv_formatString(x)
#define __drv_completionType(x)
#define __in_bcount(x)
#define __in_bcount_opt(x)
#define __in_ecount(x)
#define __in_ecount_opt(x)
#define __in_ecount_z(x)
#define __in_bcount_z(x)
#define __in_data_source(x)
#define __in_range(x)
#define __inout_bcount(x)
#define __inout_bcount_opt(x)
#define __inout_ecount(x)
#define __inout_ecount_opt(x)
#define __inout_ecount_z(x)
#define __inout_bcount_full(x)
#define __inout_bcount_full_opt(x)
#define __inout_ecount_full(x)
#define __out_bcount(x)
#define __out_bcount_opt(x)
#define __out_ecount(x)
#define __out_ecount_opt(x)
#define __out_ecount_z(x)
#define __out_ecount_z_opt(x)
#define __out_bcount_full(x)
#define __out_bcount_full_opt(x)
#define __out_ecount_full(x)
#define __out_data_source(x)
#define __out_range(x)
#define __deref_out_bcount(x)
#define __deref_out_bcount_opt(x)
#define __deref_out_ecount(x)
#define __deref_out_ecount_opt(x)
#define __deref_out_range(x)
#define __field_ecount(x)
#define __field_ecount_opt(x)
#define __field_bcount(x)
#define __field_bcount_opt(x)
#define __field_ecount_full(x)
#define __field_bcount_full(x)
#define __field_range(x)
#define __field_data_source(x)
#define __struct_bcount(x)
#define __success(x)
#define __control_entrypoint(x)
#define __typefix(x)
#define __range(x)
#define __blocksOn(x)
#define __assume_bound(x)
#define _Out_writes_to_(x, y)
#define _Out_writes_to_opt_(x, y)
#define _Out_writes_bytes_to_(x, y)
#define _Out_writes_bytes_to_opt_(x, y)
#define _Inout_updates_to_(x, y)
#define _Inout_updates_to_opt_(x, y)
#define _Inout_updates_bytes_to_(x, y)
#define _Inout_updates_bytes_to_opt_(x, y)
#define _Outptr_result_buffer_to_(x, y)
#define _Outptr_opt_result_buffer_to_(x, y)
#define _Outptr_result_bytebuffer_to_(x, y)
#define _Outptr_opt_result_bytebuffer_to_(x, y)
#define _Field_size_part_(x, y)
#define _Field_size_part_opt_(x, y)
#define _Field_size_bytes_part_(x, y)
#define _Field_size_bytes_part_opt_(x, y)
#define _Ret_writes_to_(x, y)
#define _Ret_writes_bytes_to_(x, y)
#define _Ret_writes_to_maybenull_(x, y)
#define _Ret_writes_bytes_to_maybenull_(x, y)
#define _When_(x, y)
#define _At_(x, y)
#define _Lock_level_order_(x, y)
#define _Out_cap_post_count_(x, y)
#define _Out_bytecap_post_bytecount_(x, y)
#define __out_bcount_part(x, y)
#define __out_bcount_part_opt(x, y)
#define __out_ecount_part(x, y)
#define __out_ecount_part_opt(x, y)
#define __inout_bcount_part(x, y)
#define __inout_bcount_part_opt(x, y)
#define __inout_ecount_part(x, y)
#define __field_bcount_part(x, y)
#define __field_ecount_part(x, y)
#define __drv_when(x, y)
#define __drv_at(x, y)
#define __drv_arg(x, y)
#define __drv_maxFunctionIRQL(x, y)
#define __deref_out_bcount_part(x, y)
#define __deref_out_ecount_part(x, y)
#define _At_buffer_(a, b, c, d)
#define _Create_lock_level_(x)
#define __drv_declspec(x)
#define _Analysis_assume_lock_held_(x)
#define _Analysis_assume_lock_not_held_(x)
#define _Analysis_assume_lock_acquired_(x)
#define _Analysis_assume_lock_released_(x)
#define _Analysis_assume_nullterminated_(x)
#define _Analysis_assume_same_lock_(x)

#define _Analysis_assume_(expression) ((void)0)
#define __analysis_assume(expression) ((void)0)
#define __assume(expression) ((void)0)
#define __fallthrough __attribute__((fallthrough))
#define __annotation(...) ((void)0)

#endif
