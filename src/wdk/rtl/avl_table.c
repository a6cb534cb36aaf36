/* SPDX-License-Identifier: MIT */
/*
 * Implements generic tables in AVL trees: see wdm/table.h. The depths of the two subtrees of a node differ by at most
 * 1, so a tree of n elements has a depth of at most 1.44 log2(n). The whole tree is the right subtree of the table's
 * BalancedRoot.
 */
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "ntddk.h"

#include "wdk/ke/thread.h"

struct avl_node {
    RTL_BALANCED_LINKS links;
    UCHAR data[];
};

static void *avl_data(RTL_BALANCED_LINKS *links)
{
    return links ? ((struct avl_node *)(void *)links)->data : NULL;
}

static RTL_BALANCED_LINKS **avl_side(RTL_BALANCED_LINKS *node, bool right)
{
    return right ? &node->RightChild : &node->LeftChild;
}

static bool avl_is_right(const RTL_BALANCED_LINKS *node)
{
    return node->Parent->RightChild == node;
}

/* ---- The tree ---------------------------------------------------------------------------------------------------- */

static RTL_BALANCED_LINKS *avl_outermost(RTL_BALANCED_LINKS *node, bool right)
{
    while (node && *avl_side(node, right))
        node = *avl_side(node, right);
    return node;
}

/* Returns the next node in ascending order if `right` is true, else in descending order. Returns NULL at the end. */
static RTL_BALANCED_LINKS *avl_neighbour(const RTL_AVL_TABLE *table, RTL_BALANCED_LINKS *node, bool right)
{
    if (*avl_side(node, right))
        return avl_outermost(*avl_side(node, right), !right);
    while (node->Parent != &table->BalancedRoot && avl_is_right(node) == right)
        node = node->Parent;
    return node->Parent == &table->BalancedRoot ? NULL : node->Parent;
}

/* Makes `node`, which may be NULL, a child of old's parent instead of `old`. */
static void avl_replace(RTL_BALANCED_LINKS *old, RTL_BALANCED_LINKS *node)
{
    *avl_side(old->Parent, avl_is_right(old)) = node;
    if (node)
        node->Parent = old->Parent;
}

/*
 * Rotates to the right if `right` is true, otherwise to the left: a child of `node` replaces `node`. Returns this
 * child.
 */
static RTL_BALANCED_LINKS *avl_rotate(RTL_BALANCED_LINKS *node, bool right)
{
    RTL_BALANCED_LINKS *child = *avl_side(node, !right), *inner = *avl_side(child, right);

    avl_replace(node, child);
    *avl_side(child, right) = node;
    node->Parent = child;
    *avl_side(node, !right) = inner;
    if (inner)
        inner->Parent = node;
    return child;
}

/*
 * Restores the balance of `node`, one of whose subtrees is deeper than the other by 2: the right one if `right` is
 * true, otherwise the left one. Returns the node that replaces `node`. Sets *shrunk to true if the depth of the whole
 * subtree has decreased.
 */
static RTL_BALANCED_LINKS *avl_rebalance(RTL_BALANCED_LINKS *node, bool right, bool *shrunk)
{
    RTL_BALANCED_LINKS *child = *avl_side(node, right), *inner;
    CHAR deep = right ? 1 : -1;

    *shrunk = child->Balance != 0;
    if (child->Balance != -deep) {
        node->Balance = child->Balance ? 0 : deep;
        child->Balance = child->Balance ? 0 : (CHAR)-deep;
        return avl_rotate(node, !right);
    }
    inner = *avl_side(child, !right);
    avl_rotate(child, right);
    avl_rotate(node, !right);
    node->Balance = inner->Balance == deep ? (CHAR)-deep : 0;
    child->Balance = inner->Balance == -deep ? deep : 0;
    inner->Balance = 0;
    return inner;
}

/* Restores the balance after an insertion, from the new leaf up to the first node whose depth has not changed. */
static void avl_after_insert(RTL_AVL_TABLE *table, RTL_BALANCED_LINKS *node)
{
    for (; node->Parent != &table->BalancedRoot; node = node->Parent) {
        RTL_BALANCED_LINKS *parent = node->Parent;
        bool right = avl_is_right(node), shrunk;
        CHAR balance = (CHAR)(parent->Balance + (right ? 1 : -1));

        if (balance == 2 || balance == -2) {
            avl_rebalance(parent, right, &shrunk);
            return;
        }
        parent->Balance = balance;
        if (!balance)
            return;
    }
    table->DepthOfTree++;
}

/*
 * Restores the balance after a removal, which has decreased the depth of one subtree of `parent`: the right one if
 * `right` is true, otherwise the left one.
 */
static void avl_after_remove(RTL_AVL_TABLE *table, RTL_BALANCED_LINKS *parent, bool right)
{
    while (parent != &table->BalancedRoot) {
        CHAR balance = (CHAR)(parent->Balance + (right ? -1 : 1));
        bool shrunk = !balance;

        if (balance == 2 || balance == -2)
            parent = avl_rebalance(parent, !right, &shrunk);
        else
            parent->Balance = balance;
        if (!shrunk)
            return;
        right = avl_is_right(parent);
        parent = parent->Parent;
    }
    table->DepthOfTree--;
}

static void avl_remove(RTL_AVL_TABLE *table, RTL_BALANCED_LINKS *node)
{
    RTL_BALANCED_LINKS *next = node->RightChild, *parent = node->Parent;
    bool right = avl_is_right(node);

    if (!node->LeftChild || !node->RightChild) {
        avl_replace(node, node->LeftChild ? node->LeftChild : node->RightChild);
        avl_after_remove(table, parent, right);
        return;
    }
    next = avl_outermost(node->RightChild, false);
    parent = next->Parent == node ? next : next->Parent;
    right = next->Parent == node;
    avl_replace(next, next->RightChild);
    next->LeftChild = node->LeftChild;
    next->RightChild = node->RightChild;
    next->Balance = node->Balance;
    next->LeftChild->Parent = next;
    if (next->RightChild)
        next->RightChild->Parent = next;
    avl_replace(node, next);
    avl_after_remove(table, parent, right);
}

/*
 * Returns the node that equals `buffer`, otherwise the node that would be its parent. Returns NULL if the tree is
 * empty.
 */
static RTL_BALANCED_LINKS *avl_find(RTL_AVL_TABLE *table, void *buffer, TABLE_SEARCH_RESULT *result)
{
    RTL_BALANCED_LINKS *node = table->BalancedRoot.RightChild, *parent = NULL;

    *result = TableEmptyTree;
    while (node) {
        RTL_GENERIC_COMPARE_RESULTS order = table->CompareRoutine(table, buffer, avl_data(node));

        parent = node;
        if (order == GenericEqual) {
            *result = TableFoundNode;
            return node;
        }
        *result = order == GenericLessThan ? TableInsertAsLeft : TableInsertAsRight;
        node = *avl_side(node, *result == TableInsertAsRight);
    }
    return parent;
}

/* ---- The routines ------------------------------------------------------------------------------------------------ */

VOID RtlInitializeGenericTableAvl(PRTL_AVL_TABLE Table, PRTL_AVL_COMPARE_ROUTINE CompareRoutine,
                                  PRTL_AVL_ALLOCATE_ROUTINE AllocateRoutine, PRTL_AVL_FREE_ROUTINE FreeRoutine,
                                  PVOID TableContext)
{
    irql_check_max(__func__, DISPATCH_LEVEL);
    memset(Table, 0, sizeof *Table);
    Table->BalancedRoot.Parent = &Table->BalancedRoot;
    Table->CompareRoutine = CompareRoutine;
    Table->AllocateRoutine = AllocateRoutine;
    Table->FreeRoutine = FreeRoutine;
    Table->TableContext = TableContext;
}

PVOID RtlInsertElementGenericTableFullAvl(PRTL_AVL_TABLE Table, PVOID Buffer, CLONG BufferSize, PBOOLEAN NewElement,
                                          PVOID NodeOrParent, TABLE_SEARCH_RESULT SearchResult)
{
    struct avl_node *node;
    RTL_BALANCED_LINKS *parent = SearchResult == TableEmptyTree ? &Table->BalancedRoot : NodeOrParent;

    irql_check_max("RtlInsertElementGenericTableAvl", DISPATCH_LEVEL);
    if (NewElement)
        *NewElement = FALSE;
    if (SearchResult == TableFoundNode)
        return avl_data(NodeOrParent);
    node = Table->AllocateRoutine(Table, (CLONG)sizeof *node + BufferSize);
    if (!node)
        return NULL;
    node->links = (RTL_BALANCED_LINKS){ .Parent = parent };
    memcpy(node->data, Buffer, BufferSize);
    *avl_side(parent, SearchResult != TableInsertAsLeft) = &node->links;
    avl_after_insert(Table, &node->links);
    Table->NumberGenericTableElements++;
    if (NewElement)
        *NewElement = TRUE;
    return node->data;
}

PVOID RtlInsertElementGenericTableAvl(PRTL_AVL_TABLE Table, PVOID Buffer, CLONG BufferSize, PBOOLEAN NewElement)
{
    TABLE_SEARCH_RESULT result;
    RTL_BALANCED_LINKS *place = avl_find(Table, Buffer, &result);

    return RtlInsertElementGenericTableFullAvl(Table, Buffer, BufferSize, NewElement, place, result);
}

BOOLEAN RtlDeleteElementGenericTableAvl(PRTL_AVL_TABLE Table, PVOID Buffer)
{
    TABLE_SEARCH_RESULT result;
    RTL_BALANCED_LINKS *node;

    irql_check_max(__func__, DISPATCH_LEVEL);
    node = avl_find(Table, Buffer, &result);
    if (result != TableFoundNode)
        return FALSE;
    if (Table->RestartKey == node) /* RtlEnumerateGenericTableAvl continues with the element after `node` */
        Table->RestartKey = avl_neighbour(Table, node, false);
    avl_remove(Table, node);
    Table->NumberGenericTableElements--;
    Table->DeleteCount++;
    Table->FreeRoutine(Table, node);
    return TRUE;
}

PVOID RtlLookupElementGenericTableFullAvl(PRTL_AVL_TABLE Table, PVOID Buffer, PVOID *NodeOrParent,
                                          TABLE_SEARCH_RESULT *SearchResult)
{
    RTL_BALANCED_LINKS *node;

    irql_check_max("RtlLookupElementGenericTableAvl", DISPATCH_LEVEL);
    node = avl_find(Table, Buffer, SearchResult);
    *NodeOrParent = node;
    return *SearchResult == TableFoundNode ? avl_data(node) : NULL;
}

PVOID RtlLookupElementGenericTableAvl(PRTL_AVL_TABLE Table, PVOID Buffer)
{
    TABLE_SEARCH_RESULT result;
    PVOID node;

    return RtlLookupElementGenericTableFullAvl(Table, Buffer, &node, &result);
}

PVOID RtlEnumerateGenericTableWithoutSplayingAvl(PRTL_AVL_TABLE Table, PVOID *RestartKey)
{
    RTL_BALANCED_LINKS *next;

    irql_check_max("RtlEnumerateGenericTableAvl", DISPATCH_LEVEL);
    next = *RestartKey ? avl_neighbour(Table, *RestartKey, true) : avl_outermost(Table->BalancedRoot.RightChild, false);
    if (next)
        *RestartKey = next;
    return avl_data(next);
}

PVOID RtlEnumerateGenericTableAvl(PRTL_AVL_TABLE Table, BOOLEAN Restart)
{
    PVOID key = Restart ? NULL : Table->RestartKey, data = RtlEnumerateGenericTableWithoutSplayingAvl(Table, &key);

    Table->RestartKey = key;
    return data;
}

PVOID RtlGetElementGenericTableAvl(PRTL_AVL_TABLE Table, ULONG I)
{
    RTL_BALANCED_LINKS *node;

    irql_check_max(__func__, DISPATCH_LEVEL);
    if (I >= Table->NumberGenericTableElements)
        return NULL;
    for (node = avl_outermost(Table->BalancedRoot.RightChild, false); I; I--)
        node = avl_neighbour(Table, node, true);
    return avl_data(node);
}

ULONG RtlNumberGenericTableElementsAvl(PRTL_AVL_TABLE Table)
{
    return Table->NumberGenericTableElements;
}

BOOLEAN RtlIsGenericTableEmptyAvl(PRTL_AVL_TABLE Table)
{
    return !Table->NumberGenericTableElements;
}
